"""Draft attention: a bidirectional block over its context."""
