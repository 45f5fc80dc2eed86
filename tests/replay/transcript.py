"""Prints what recorded runs decide: `python -m tests.replay.transcript [HISTORY ...]`.

Replays every history and prints, as JSON lines, the calls with their ids and inputs, the timers,
the end, the trail, the routes as they are drawn, and the state at the end. Wording and digests are
left out. So two versions of this code decide the same where `diff` finds nothing between what they
print: run the older one in a checkout of its own, on the same files, before histories are recorded
anew.
"""

import asyncio
import json
import sys
from pathlib import Path
from typing import Any, cast

from pydantic import TypeAdapter
from temporalio.bridge.proto.workflow_activation import WorkflowActivation
from temporalio.bridge.proto.workflow_completion import WorkflowActivationCompletion

from coterie.graph.taken_path import walk_of
from coterie.replay.effects import effect_of
from coterie.replay.observed_replay import ReplayObserver, is_the_last, observed
from coterie.replay.rebuilt_run import Rebuilt, rebuilt
from coterie.storage.histories import read_history
from coterie.workflows.core.state import RunState

HISTORIES = Path(__file__).parent / "histories"
_WORDING = (
    "because",
    "ran_because",
    "came_because",
    "cause",
    "message",
    "last_because",
    "told",
    "found",
)
_DIGESTS = ("trail_digest", "trail")
_STATE = TypeAdapter(RunState)


class _Commands(ReplayObserver):
    """Takes down what the run asks of Temporal, and what it remembers in the end."""

    def __init__(self) -> None:
        super().__init__()
        self.commands: list[Any] = []
        self.state: Any = None
        self._going = False

    def before(self, act: WorkflowActivation) -> None:
        """Keep the state when the run goes."""
        self._going = is_the_last(act)
        if self._going and self.run is not None:
            self.state = _STATE.dump_python(self.run.state, mode="json", exclude_defaults=True)

    def after(self, completion: WorkflowActivationCompletion) -> None:
        """Keep the commands."""
        if self._going:
            return
        for command in completion.successful.commands:
            effect = effect_of(command, self.queue)
            kind = command.WhichOneof("variant")
            self.commands.append(
                [kind, *([effect.kind, effect.key, effect.facts] if effect else [])]
            )


async def transcript(file: Path) -> dict[str, Any]:
    """What a recorded run decides, without its wording."""
    history = read_history(file)
    watched = _Commands()
    failure = await observed(history, watched)
    found = await rebuilt(history)
    shown: dict[str, Any] = {"history": file.name, "failure": str(failure) if failure else None}
    shown["commands"] = watched.commands
    shown["state"] = watched.state
    if isinstance(found, Rebuilt):
        walk = walk_of("run", "", found.trail, found.status)
        shown["trail"] = [entry.model_dump(mode="json") for entry in found.trail]
        shown["walk"] = {
            "visits": dict(walk.visits),
            "taken": [[list(key), list(order)] for key, order in walk.taken.items()],
            "marks": [[list(key), mark] for key, mark in walk.marks.items()],
            "standing": dict(walk.standing),
            "redirects": [list(key) for key in walk.redirects],
            "stranded": walk.stranded,
        }
        shown["visits"] = [
            [
                visit.name,
                visit.status,
                visit.next_team,
                [rule.taken for rule in visit.rules or ()],
                [[alternative.taken for alternative in one.alternatives] for one in visit.happened],
                [one.when is not None for one in visit.happened],
            ]
            for visit in found.visits.values()
        ]
    return cast("dict[str, Any]", _without_wording(shown))


def _without_wording(value: Any) -> Any:
    match value:
        case dict():
            kept = cast("dict[str, Any]", value)
            return {
                key: _without_wording(item)
                for key, item in kept.items()
                if key not in _WORDING and not (key in _DIGESTS and not isinstance(item, list))
            }
        case list() | tuple():
            return [_without_wording(item) for item in cast("list[Any]", value)]
        case _:
            return value


def main() -> None:
    """Print a line for each history."""
    named = [Path(name) for name in sys.argv[1:]]
    for file in named or sorted(HISTORIES.glob("*.json")):
        line = json.dumps(asyncio.run(transcript(file)), sort_keys=True)
        print(line)  # noqa: T201


if __name__ == "__main__":
    main()
