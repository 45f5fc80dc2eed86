"""A tool, a model provider and an agent type for Coterie."""
