"""What a start names: a team, or one deployed version of it."""

import re
from typing import NamedTuple

_REFERENCE = re.compile(r"(?P<team>.+)@(?P<number>[0-9]{1,6})", re.ASCII | re.DOTALL)


class Reference(NamedTuple):
    """A team, or one version of it."""

    team: str
    number: int | None = None
    """None: the current version."""


def reference_of(text: str) -> Reference:
    """Read `review` or `review@3`."""
    match = _REFERENCE.fullmatch(text)
    return Reference(text) if match is None else Reference(match["team"], int(match["number"]))
