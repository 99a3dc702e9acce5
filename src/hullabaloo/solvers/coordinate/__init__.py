"""One coordinate at a time: cyclic with coordinate-wise noise, greedy, and selection of the support."""
