"""Perturbed minimisers: of the objective, and of the output."""
