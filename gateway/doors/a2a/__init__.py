"""The door for A2A clients: each team as an agent, each run as a task."""
