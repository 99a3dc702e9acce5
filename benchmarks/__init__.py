"""Measurements of Hullabaloo, one module each; `python -m benchmarks` records them (`record.py`)."""
