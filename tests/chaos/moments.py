"""Moments of a run that the model's log tells, and a `kill -9` at each of them."""

import asyncio
import json
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import cast

LOOK = 0.02
"""Seconds between two looks at a log."""


@dataclass(frozen=True, slots=True)
class Noted:
    """A line of the model's log: a call that it was asked for, or has answered."""

    event: str
    label: str
    """`team/task#visit.reask`."""
    turn: int
    call: str
    """`run id/activity id`."""
    digest: str
    """Of everything that would have been sent."""

    @property
    def run(self) -> str:
        """The id of its history."""
        return self.call.partition("/")[0]

    @property
    def activity(self) -> str:
        """The id of its activity, which is the same one in every run of the same play."""
        return self.call.partition("/")[2]


def noted(log: Path) -> list[Noted]:
    """Read the log of `NotedModel`, as far as it is written."""
    lines = log.read_text().splitlines() if log.exists() else []
    found = [cast("dict[str, object]", json.loads(line)) for line in lines if line.endswith("}")]
    return [
        Noted(
            str(one["event"]),
            str(one["label"]),
            int(str(one["turn"])),
            str(one["call"]),
            str(one["digest"]),
        )
        for one in found
    ]


async def until(is_there: Callable[[], Awaitable[bool]], what: str, seconds: float) -> None:
    """Look again and again until something is there.

    Raises:
        TimeoutError: It did not come about in time.
    """
    end = time.monotonic() + seconds
    while not await is_there():
        if time.monotonic() > end:
            raise TimeoutError(f"{what} did not come about within {seconds:g} s")
        await asyncio.sleep(LOOK)


def digests(lines: list[Noted], run: str) -> dict[str, set[str]]:
    """Return `{activity id: the digests of its requests}` of one history."""
    found: dict[str, set[str]] = {}
    for line in lines:
        if line.event == "asked" and line.run == run:
            found.setdefault(line.activity, set()).add(line.digest)
    return found


def check_digests(
    run: str, found: dict[str, set[str]], undisturbed: dict[str, set[str]]
) -> list[str]:
    """Return where a run asked the model otherwise than the undisturbed run of its play did.

    Args:
        run: Its name.
        found: `{activity id: the digests of its requests}`.
        undisturbed: The same, of the run that nothing disturbed.
    """
    wrong = [
        f"{run}: {id} was asked, and not in the undisturbed run"
        for id in found.keys() - undisturbed
    ]
    wrong += [f"{run}: {id} was not asked" for id in undisturbed.keys() - found.keys()]
    wrong += [
        f"{run}: {id} was asked {len(found[id])} different requests, or another one"
        for id in sorted(found.keys() & undisturbed.keys())
        if found[id] != undisturbed[id]
    ]
    return wrong
