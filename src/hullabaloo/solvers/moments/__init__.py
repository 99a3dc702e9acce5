"""Least squares from noisy moments, and what is learned with them."""
