"""Bounds of the theorems, and the instances that are hard for every private method."""
