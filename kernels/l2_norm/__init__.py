"""Euclidean normalisation of query and key heads."""
