"""A stand-in for the LLM APIs: an npm package, run by the Node that comes from PyPI."""
