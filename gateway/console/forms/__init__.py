"""Forms of the console: from schemas to fields, and from what people send to operations."""
