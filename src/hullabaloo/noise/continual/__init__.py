"""Continual release: running sums of a stream, noised once where they are encoded, for ever private."""
