"""What a team answers, as a text for programs that take only texts. Pure."""

import json

from pydantic import JsonValue


def text_of(value: JsonValue) -> str:
    """Return a reply or a result as text: the text alone, if it has nothing else."""
    match value:
        case None:
            return ""
        case str():
            return value
        case {"text": str(text), **rest} if not rest:
            return text
        case dict() if len(value) == 1 and isinstance(only := next(iter(value.values())), dict):
            return text_of(only) if set(only) == {"text"} else _json(value)
        case dict() if len(value) == 1 and isinstance(only := next(iter(value.values())), str):
            return only
        case _:
            return _json(value)


def _json(value: JsonValue) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2)
