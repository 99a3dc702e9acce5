"""Measurements of Hullabaloo, one module each, with `run()` and `SOURCES`; `python -m benchmarks` records them."""
