"""Find a document's effective values and their origins, for `coterie explain` and `limits`."""
