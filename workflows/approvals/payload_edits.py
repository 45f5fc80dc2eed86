"""Payload edits: what a person may change in a request, and what they changed. Pure functions."""

from collections.abc import Iterator

from pydantic import JsonValue

from dsl.errors import listed
from dsl.json_schema.keyword_check import brief
from dsl.json_schema.schema_checker import UnusableSchema, mismatches
from dsl.json_values import describe_kind
from dsl.model.outcomes import Outcome
from dsl.model.tools.tool_contract import Tool
from dsl.tool_loop.call_checks import argument_problems
from workflows.core.requests import Pending

MAX_CHANGES = 20
"""Maximum changes that a request lists; the decision's payload has the whole value."""


def payload_problem(request: Pending, payload: JsonValue, where: str) -> str | None:
    """Return what is wrong with a value that replaces the one shown, or None.

    It must match the JSON Schema of the request, or else keep the types of the value shown.
    """
    if request.payload_schema is None:
        mismatch = _mismatch(request.show, payload, where)
        if mismatch is None:
            return None
        return f"{mismatch}; a change must keep the form of the value shown"
    try:
        found = mismatches(payload, request.payload_schema, where)
    except UnusableSchema as error:
        return f"{where} cannot be checked against its schema: {error}"
    return "; ".join(found) or None


def _mismatch(shown: JsonValue, given: JsonValue, where: str) -> str | None:
    """Return where the given value has another shape than the shown one, or None."""
    match shown, given:
        case None, _:
            return None
        case dict(), dict():
            if shown.keys() != given.keys():
                return f"{where} has the keys {listed(given)}, not {listed(shown)}"
            parts = (_mismatch(shown[key], given[key], f"{where}.{key}") for key in shown)
        case list(), list():
            pattern = shown[0] if shown else None
            parts = (_mismatch(pattern, one, f"{where}[{i}]") for i, one in enumerate(given))
        case _ if type(shown) is type(given):
            return None
        case _:
            kinds = describe_kind(shown), describe_kind(given)
            return None if kinds[0] == kinds[1] else f"{where} is {kinds[1]}, not {kinds[0]}"
    return next((part for part in parts if part is not None), None)


def edit_problem(tool: Tool, given: JsonValue) -> Outcome | None:
    """Return the failure of arguments that a person changed and a tool cannot take, or None."""
    if not isinstance(given, dict):
        problems = (f"they are {describe_kind(given)}, not a mapping",)
    elif tool.input_schema is None:
        return None
    else:
        own = {key: one for key, one in given.items() if key not in tool.fixed}
        problems = argument_problems(own, tool.input_schema)
    if not problems:
        return None
    message = f"a person changed the arguments: {'; '.join(problems)}"
    return Outcome.failed("InvalidArguments", message)


def changes(before: JsonValue, after: JsonValue) -> tuple[str, ...]:
    """Return the differences, as `pages: 3 -> 4`; at most MAX_CHANGES, then `and more`."""
    found: list[str] = []
    for change in _changes(before, after, ""):
        if len(found) == MAX_CHANGES:
            return (*found, "and more")
        found.append(change)
    return tuple(found)


def _changes(before: JsonValue, after: JsonValue, where: str) -> Iterator[str]:
    match before, after:
        case dict(), dict():
            for key in dict.fromkeys((*before, *after)):
                path = f"{where}.{key}" if where else key
                if key not in after:
                    yield f"{path}: {brief(before[key])} left out"
                elif key not in before:
                    yield f"{path}: {brief(after[key])} added"
                else:
                    yield from _changes(before[key], after[key], path)
        case list(), list() if len(before) == len(after):
            for index, (old, new) in enumerate(zip(before, after, strict=True)):
                yield from _changes(old, new, f"{where}[{index}]")
        case _:
            if before != after or describe_kind(before) != describe_kind(after):
                change = f"{brief(before)} -> {brief(after)}"
                yield f"{where}: {change}" if where else change
