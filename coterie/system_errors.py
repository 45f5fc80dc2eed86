"""Describe system errors that are not bugs, in one sentence for a terminal."""

from activities.os_errors import REASONS, reason_of


def system_error(error: OSError) -> str | None:
    """Return one sentence with path and cause; None if it may be a bug of ours."""
    if error.errno not in REASONS:
        return None
    return f"{error.filename}: {reason_of(error)}" if error.filename else reason_of(error)
