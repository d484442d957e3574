"""Row-invariant linear projection."""
