"""Operators of the speculative hot path: one folder an operator, `registry.resolve` picks the backend.

Knows tensors only: no engine, no files of the report.
"""
