"""The door for AG-UI: user interfaces run teams, see them work, and answer their requests."""
