"""Bounds without looking at the records: private quantiles, and the domain that they make."""
