"""Noisy mirror descent."""
