"""Estimates with errors beside any solver: a score with its curvature, and the steps that it speaks for."""
