"""The chat with a session: its messages from the newest end, what was done, its open requests."""
