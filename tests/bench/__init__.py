"""Benchmarks that print figures; run them by hand on an idle machine."""
