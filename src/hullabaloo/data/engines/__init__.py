"""Where the parts of a table are read, and asked: in this process, or on the workers of a cluster. One file an engine."""
