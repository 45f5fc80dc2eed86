"""Run code of the user's own packages in child processes, never in the worker."""
