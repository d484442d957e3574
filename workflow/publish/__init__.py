"""From a built site to something to hand over: an archive with checksums, and a branch that a Pages host serves."""
