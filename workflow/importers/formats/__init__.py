"""One module a format. Each has NAME, TOOL, and either `matches(object)` with `read(fields, seen)`, or `begins(source)` with `parse(source, seen)`."""
