"""Gradient descent with noisy gradients: plain, adaptive, preconditioned."""
