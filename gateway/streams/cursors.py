"""Cursors: positions in the events of runs, which mean the same to every gateway process.

`FIRST.RUN.EVENT`: the run id of the first history of the chain, the run id of the history, and the
id of the event in it. A stream of several runs has one position per run: `0=CURSOR;3=CURSOR`, by
the place of each run in the request.
"""

import re
from collections.abc import Mapping
from typing import NamedTuple

from coterie.failures import CommandError

_ID = r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
"""Run ids are UUIDs: the server refuses others."""
_CURSOR = re.compile(rf"(?P<first>{_ID})\.(?P<run>{_ID})\.(?P<event>0|[1-9]\d{{0,9}})", re.ASCII)
_JOINT = re.compile(r"(?P<place>0|[1-9]\d{0,3})=(?P<cursor>[^;=]+)", re.ASCII)


class InvalidCursor(CommandError):
    """A cursor that no stream has given."""

    def __init__(self, text: str) -> None:
        shown = text if len(text) <= 100 else f"{text[:100]}..."
        super().__init__(
            f"{shown!r} is no cursor of an event; use the `id` of an event that the stream sent, "
            "or leave it out to begin with the latest events"
        )


class Cursor(NamedTuple):
    """The position right after one event."""

    first: str
    """The run id of the first history of the chain."""
    run: str
    """The run id of the history."""
    event: int
    """The id of the event; 0 before the first one."""

    def __str__(self) -> str:
        return f"{self.first}.{self.run}.{self.event}"

    @classmethod
    def parse(cls, text: str) -> "Cursor":
        """Read a cursor.

        Raises:
            InvalidCursor: It is none.
        """
        match = _CURSOR.fullmatch(text)
        if match is None:
            raise InvalidCursor(text)
        return cls(match["first"], match["run"], int(match["event"]))


def joint_cursor(positions: Mapping[int, Cursor]) -> str:
    """Format the positions of several runs: `{place in the request: cursor}`."""
    return ";".join(f"{place}={cursor}" for place, cursor in positions.items())


def parse_joint(text: str, runs: int) -> dict[int, Cursor]:
    """Read the positions of several runs.

    Args:
        text: The cursor.
        runs: How many runs the request names.

    Raises:
        InvalidCursor: It is none, or of another request.
    """
    positions: dict[int, Cursor] = {}
    for part in text.split(";"):
        match = _JOINT.fullmatch(part)
        if match is None or int(match["place"]) >= runs:
            raise InvalidCursor(text)
        positions[int(match["place"])] = Cursor.parse(match["cursor"])
    return positions
