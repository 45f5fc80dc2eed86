"""The names of what models call: one name a call of a run, and one a handoff. Pure."""

import re

_CALL = re.compile(r"@\d+\.\d+(?=/|$)")
_NOT_IN_A_NAME = re.compile(r"[^A-Za-z0-9_-]")


def call_name(tool: str, turn: int, number: int) -> str:
    """Return the name of a call: `search@2.1`; turn and number are from 1."""
    return f"{tool}@{turn}.{number}"


def calls_in(path: str) -> int:
    """Return how many parts of a path are calls of models."""
    return len(_CALL.findall(path)) if "@" in path else 0


def without_calls(path: str) -> str:
    """Return a path without the turns and numbers of calls: `code/search`."""
    return _CALL.sub("", path) if "@" in path else path


def handoff_name(team: str) -> str:
    """Return the name under which a model hands over to a team."""
    return f"handoff_to_{_NOT_IN_A_NAME.sub('_', team)}"
