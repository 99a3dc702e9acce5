"""Minimisers of regularised losses over records, to a distance that is proved for every table."""
