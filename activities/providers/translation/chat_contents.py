"""Contents of Chat Completions that are lists of parts: texts, and thinking beside them. Pure.

Mistral's models that reason answer so; other servers send a text.
"""

from collections.abc import Sequence

from pydantic import JsonValue


def text_in(part: JsonValue) -> str:
    """Return the text of a part; empty for thinking and what is unknown."""
    match part:
        case str() | {"type": "text", "text": str()}:
            return part if isinstance(part, str) else str(part["text"])
        case _:
            return ""


def is_text(parts: Sequence[JsonValue]) -> bool:
    """Return whether the parts are texts only."""
    return all(isinstance(one, str) or text_in(one) for one in parts)


def joined(pieces: Sequence[JsonValue]) -> list[JsonValue]:
    """Return the parts of a streamed content, where neighbours of one type are pieces of one."""
    parts: list[JsonValue] = []
    for piece in pieces:
        match parts, piece:
            case [*_, {"type": "text", "text": str(before)}], {"type": "text", "text": str(more)}:
                parts[-1] = {"type": "text", "text": before + more}
            case (
                [*_, {"type": "thinking", "thinking": list(thoughts)}],
                {"type": "thinking", "thinking": list(others)},
            ):
                parts[-1] = {"type": "thinking", "thinking": joined([*thoughts, *others])}
            case _:
                parts.append(piece)
    return parts
