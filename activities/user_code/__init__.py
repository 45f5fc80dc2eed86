"""Code of the user's own packages: it runs in child processes, never in the worker."""
