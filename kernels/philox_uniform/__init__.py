"""Counter-based uniforms: the same numbers on every backend, for every batch composition."""
