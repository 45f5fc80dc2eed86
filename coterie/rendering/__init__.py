"""Format the results of commands as text for people."""
