"""Names of conversations: judged alike before a run and in it."""

from pydantic import JsonValue

MAX_CONVERSATION_NAME = 200


def name_of_conversation(written: JsonValue) -> str | None:
    """Return the name that a value gives; None if it gives none."""
    name = str(written) if isinstance(written, str | int) else ""
    return name if 0 < len(name) <= MAX_CONVERSATION_NAME else None
