"""Whether a value may be a change of files, whose diff people see where they decide."""

from pydantic import JsonValue

from coterie.workflows.core.requests import PlannedCall

_FILE = frozenset({"path", "file_path", "file", "paths"})
"""Keys of a change of files, in the input of skills."""


def names_file(value: JsonValue) -> bool:
    """Return whether a value, or a part of it, names a file."""
    match value:
        case dict():
            return not _FILE.isdisjoint(value) or any(map(names_file, value.values()))
        case list():
            return any(map(names_file, value))
        case _:
            return False


def with_input(call: PlannedCall, given: JsonValue) -> PlannedCall:
    """Return a call with its input, which the request does not show, if it may change files."""
    return call.model_copy(update={"input": given}) if names_file(given) else call
