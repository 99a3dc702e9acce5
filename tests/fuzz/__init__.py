"""Garbage at every public door: an answer or a sentence, never anything else."""
