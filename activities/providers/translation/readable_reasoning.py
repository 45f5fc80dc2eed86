"""The part of a model's thinking that people may read, as each vendor writes it. Pure."""

from collections.abc import Iterable, Iterator

from pydantic import JsonValue

from coterie.activities.contracts import MAX_REASONING, ModelReasoning
from coterie.activities.providers.message_model import Content, ThinkingPart


def readable_reasoning(answers: Iterable[Content]) -> ModelReasoning | None:
    """Return what the answers of one turn show of its thinking, bounded; None if nothing.

    Signatures and encrypted thinking stay out.
    """
    shown = [
        piece
        for content in answers
        for part in content
        if isinstance(part, ThinkingPart)
        for piece in _readable_parts(part.opaque)
        if piece.text.strip()
    ]
    if not shown:
        return None
    text = "\n\n".join(piece.text for piece in shown).encode(errors="replace").decode()
    return ModelReasoning(
        text=text[:MAX_REASONING],
        is_summary=all(piece.is_summary for piece in shown),
        left_out=max(0, len(text) - MAX_REASONING),
    )


def _readable_parts(opaque: JsonValue) -> Iterator[ModelReasoning]:
    match opaque:
        case {"type": "thinking", "thinking": str(text)}:  # Anthropic
            yield ModelReasoning(text=text)
        case {"type": "reasoning", **item}:  # Responses: the text of open models, else a summary
            texts = list(_texts(item.get("content"), "reasoning_text"))
            summaries = _texts(item.get("summary"), "summary_text")
            yield from (ModelReasoning(text=text) for text in texts)
            if not texts:
                yield from (ModelReasoning(text=text, is_summary=True) for text in summaries)
        case {"reasoning_content": str(text)} | {"reasoning": str(text)}:  # Chat Completions
            yield ModelReasoning(text=text)
        case {"content": list(parts)}:  # Mistral
            for part in parts:
                match part:
                    case {"type": "thinking", "thinking": thoughts}:
                        text = "".join(_texts(thoughts, "text"))
                        yield ModelReasoning(text=text)
                    case _:
                        pass
        case _:
            pass


def _texts(parts: JsonValue, kind: str) -> Iterator[str]:
    """Yield the texts of a list of parts of one type."""
    for part in parts if isinstance(parts, list) else ():
        match part:
            case {"type": str(type), "text": str(text)} if type == kind:
                yield text
            case _:
                pass
