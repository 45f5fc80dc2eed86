"""Pages for what is missing: no answer, no permission, no project yet."""
