"""Sign people in at MCP servers, for runs that wait for it."""
