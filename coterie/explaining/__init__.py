"""Effective values of a document, each with its origin: for `coterie explain` and `limits`."""
