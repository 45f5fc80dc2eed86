"""The tools that a persona offers to its model: its own and its subagents, without exclusions."""

from collections.abc import Mapping, Sequence
from typing import cast

from dsl.values import Json, JsonValue

_LISTS = ("tools", "subagents", "exclude_tools")


def with_offered_tools(merged: Json, groups: Mapping[str, Sequence[str]]) -> Json:
    """Return a merged persona whose `tools` are all that it offers, in written order.

    `subagents` are tools of the same names, and a group stands for its members; neither they nor
    `exclude_tools` are left.

    Args:
        merged: The persona.
        groups: `{group of tools: its members}`.
    """
    if not any(key in merged for key in _LISTS):
        return merged
    tools, subagents, excluded = (_names(merged.get(key), groups) for key in _LISTS)
    offered = dict.fromkeys(name for name in (*tools, *subagents) if name not in excluded)
    rest = {key: value for key, value in merged.items() if key not in _LISTS}
    names: list[JsonValue] = list(offered)
    return {**rest, "tools": names} if names else rest


def _names(value: JsonValue, groups: Mapping[str, Sequence[str]]) -> list[str]:
    written = cast("list[str]", value) if isinstance(value, list) else []
    return [one for name in written for one in groups.get(name) or (name,)]
