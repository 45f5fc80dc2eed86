"""The bytes between a worker and an MCP server: bounded, watched, and ended."""
