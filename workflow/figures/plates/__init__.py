"""One module a plate; each defines `PLATE`."""
