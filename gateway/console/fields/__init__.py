"""Fields of forms: from JSON Schemas, and back to values. Pure."""
