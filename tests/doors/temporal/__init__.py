"""Temporal's SDK for TypeScript, with teams."""
