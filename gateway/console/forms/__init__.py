"""Forms of the console: what each offers, and the operation that it performs."""
