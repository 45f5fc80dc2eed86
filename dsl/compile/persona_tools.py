"""The tools that a persona offers to its model: its own and its subagents, without exclusions."""

from typing import cast

from dsl.values import Json, JsonValue

_LISTS = ("tools", "subagents", "exclude_tools")


def with_offered_tools(merged: Json) -> Json:
    """Return a merged persona whose `tools` are all that it offers, in written order.

    `subagents` are tools of the same names; neither they nor `exclude_tools` are left.
    """
    if not any(key in merged for key in _LISTS):
        return merged
    tools, subagents, excluded = (_names(merged.get(key)) for key in _LISTS)
    offered = dict.fromkeys(name for name in (*tools, *subagents) if name not in excluded)
    rest = {key: value for key, value in merged.items() if key not in _LISTS}
    names: list[JsonValue] = list(offered)
    return {**rest, "tools": names} if names else rest


def _names(value: JsonValue) -> list[str]:
    return cast("list[str]", value) if isinstance(value, list) else []
