"""Replace single offers of a listing that break the protocol, so that the others stay.

The SDK refuses a whole page for one item that does not fit. An item is replaced by an empty offer
of its kind, whose metadata say what is wrong with the item; `offer_listing` leaves it out by name.
"""

from collections.abc import Mapping
from typing import NamedTuple, cast

import mcp_types as types
from mcp.shared.inbound import find_invalid_x_mcp_header
from mcp_types import methods
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import ValidationError

from coterie.activities.mcp_client.call_outcomes import UnusableTool
from coterie.activities.mcp_client.offer_listing import MAX_TOOLS
from coterie.activities.mcp_client.server_answers import shown_name
from coterie.dsl.values import Json, JsonValue
from coterie.dsl.visible import one_line, shortened_text

_MARK = "coterie/malformed"
"""Key of the metadata of an offer that stands for a malformed item. A server that sends it itself
loses that offer and nothing else."""

_MAX_REASON_LENGTH = 200


class _ListKind(NamedTuple):
    """A list that a server may be asked for."""

    method: str
    empty: Json
    """What an offer needs besides its name."""


_LISTS: Mapping[str, _ListKind] = {
    "tools": _ListKind("tools/list", {"inputSchema": {"type": "object"}}),
    "resources": _ListKind("resources/list", {"uri": "malformed:"}),
    "resourceTemplates": _ListKind("resources/templates/list", {"uriTemplate": "malformed:"}),
    "prompts": _ListKind("prompts/list", {}),
}
"""`{key of the items in a result: its kind}`."""


def without_malformed(result: Json, version: str) -> Json:
    """Return a result of a server in which no single offer breaks the protocol.

    Args:
        result: Of any request; only results with a list of offers change.
        version: Of the protocol, as agreed on.
    """
    for key, kind in _LISTS.items():
        items = result.get(key)
        if isinstance(items, list):
            offers = items[: MAX_TOOLS + 1]  # one more shows that there are more
            checked_offers = [
                _sound(offer, n, key, kind, version, result) for n, offer in enumerate(offers, 1)
            ]
            result = {**result, key: checked_offers}
    return result


def malformed_offer(
    item: types.Tool | types.Resource | types.ResourceTemplate | types.Prompt,
) -> UnusableTool | None:
    """Return why an offer was malformed when it came; None for a sound one."""
    why = cast("Mapping[str, object]", item.meta or {}).get(_MARK)
    return None if why is None else UnusableTool(shown_name(item.name), one_line(str(why)))


def _sound(
    item: JsonValue, number: int, key: str, kind: _ListKind, version: str, result: Json
) -> JsonValue:
    """Return the item, or what stands for it."""
    why = _problem(item, key, kind, version, result)
    if why is None:
        return item
    name = item.get("name") if isinstance(item, dict) else None
    label = name if isinstance(name, str) and name else f"{key}#{number}"
    return {"name": label, **kind.empty, "_meta": {_MARK: shortened_text(why, _MAX_REASON_LENGTH)}}


def _problem(item: JsonValue, key: str, kind: _ListKind, version: str, result: Json) -> str | None:
    """Return what is wrong with an item alone; the page around it is not judged."""
    try:
        methods.parse_server_result(kind.method, version, {**result, key: [item]})
    except KeyError:
        return None  # this version has no such list
    except ValidationError as error:
        for mismatch in error.errors(include_url=False, include_input=False):
            if mismatch["loc"][:2] == (key, 0):
                path = [str(part) for part in mismatch["loc"][2:]]
                where = ".".join(part for part in path if "[" not in part) or "its form"
                return f"it is malformed at {where}: {mismatch['msg']}"
        return None
    if key != "tools" or version not in MODERN_PROTOCOL_VERSIONS:
        return None
    assert isinstance(item, dict), "it was parsed"
    header = find_invalid_x_mcp_header(item["inputSchema"])  # the SDK drops such a tool silently
    return None if header is None else f"it is malformed: {header}"
