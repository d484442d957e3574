"""Softmax with a temperature a row."""
