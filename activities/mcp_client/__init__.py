"""Talk to MCP servers: one connection per server and worker, opened when a call needs it."""
