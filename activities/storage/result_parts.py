"""Results of calls as a model gets them: with the text and the images that are stored."""

import json
from collections.abc import Awaitable, Callable, Sequence

from pydantic import JsonValue

from coterie.activities.providers.message_model import StoredPart, ToolCallPart, ToolResultPart
from coterie.activities.storage.media import REFERENCE, references
from coterie.dsl.tool_loop.exchange import ToolResult
from coterie.dsl.tool_loop.result_texts import shortened_result

ResultRoom = Callable[[int, int], Awaitable[int | None]]
"""Returns how many characters each of so many results may have, by all their characters; None if
they surely fit."""

_MAX_REFERENCE = 200
"""Characters of a reference to an image."""


async def result_parts(
    calls: Sequence[ToolCallPart],
    results: Sequence[ToolResult],
    value: Callable[[str], Awaitable[JsonValue]],
    room: ResultRoom | None = None,
) -> tuple[ToolResultPart, ...]:
    """Return the results of calls, in the order of the calls; calls without one get none.

    Args:
        calls: of one turn.
        results: in the same order.
        value: reads a stored value.
        room: of the model that reads them; None if nobody knows it.
    """
    pairs = list(zip(calls, results, strict=False))
    texts = [
        one.text if one.kept is None else one.text + _text(await value(one.kept))
        for _, one in pairs
    ]
    share = None if room is None else await room(len(texts), sum(map(len, texts)))
    found: list[ToolResultPart] = []
    for (call, result), whole in zip(pairs, texts, strict=True):
        most = share if result.max_result is None else result.max_result
        text = whole if most is None else shortened_result(whole, most, result.kept)
        media = () if result.failed else _media(text)
        found.append(ToolResultPart(call.id, text, is_error=result.failed, media=media))
    return tuple(found)


def _media(text: str) -> tuple[StoredPart, ...]:
    """Return what a result shows: only one that is nothing but a reference shows anything."""
    if len(text) > _MAX_REFERENCE:
        return ()
    try:
        value: JsonValue = json.loads(text)
    except (ValueError, RecursionError):
        return ()
    return references(value) if isinstance(value, dict) and REFERENCE in value else ()


def _text(value: JsonValue) -> str:
    if isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
