"""Submodular set functions, one family a file, and the norms, balls and polyhedra made of them."""
