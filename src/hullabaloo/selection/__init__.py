"""Choices among candidates, scored by exact sums over records: a vertex, a column, bounds of a column."""
