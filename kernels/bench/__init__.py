"""Parity and time of every operator: `python -m kernels.bench`."""
