"""A task graph of thousands of tasks that continues as new by itself: nothing lost or repeated.

    python -m tests.chaos.graphs --tasks 2000 --concurrency 20

It needs no key. The server suggests to continue as new after 1,500 events. The exit code is 1 when
a task was lost, ran twice, or started before its dependencies.
"""

import argparse
import asyncio
import json
import resource
import sys
import tempfile
from pathlib import Path
from time import monotonic
from typing import Any

from pydantic import JsonValue

from tests.support.engine import engine
from tests.workflow.histories.test_continue_as_new import parts, suggesting_after
from tests.workflow.histories.test_resuming_graphs import MANY

_EVENTS = 1500
_DEPENDS_ON = 37


def tell(line: str) -> None:
    """Show a line of progress at once."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


async def play(size: int, at_once: int) -> list[str]:
    """Run one graph; return what was wrong."""
    tasks: list[JsonValue] = [
        {"id": f"t{n}", "dependencies": [f"t{n - _DEPENDS_ON}"] if n >= _DEPENDS_ON else []}
        for n in range(size)
    ]
    team = MANY.replace("concurrency: 5", f"concurrency: {at_once}")
    team = team.replace("max_tasks: 100", f"max_tasks: {size}")
    began = monotonic()
    with tempfile.TemporaryDirectory() as folder:
        answers: list[dict[str, JsonValue]] = [{"task": "act", "answer": "done"}]
        async with suggesting_after(_EVENTS) as env, engine(env, Path(folder), answers) as running:
            handle: Any = await running.start(team, {"tasks": tasks})
            result: Any = await handle.result()
            histories = await parts(env, handle)
    seconds = monotonic() - began
    data = result["output"]["graph"]
    events = [event for history in histories for event in history]
    places = [
        json.loads(event.user_metadata.summary.data)
        for event in events
        if event.HasField("activity_task_scheduled_event_attributes")
    ]
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    tell(
        f"{size} tasks, {at_once} at once: {len(histories)} histories, {len(events)} events "
        f"({len(events) / size:.2f} a task), {seconds:.0f} s, {memory:.0f} MB at most"
    )
    wrong: list[str] = []
    if data["counts"]["completed"] != size or result["model_calls"] != size:
        wrong.append(f"completed {data['counts']}, {result['model_calls']} model calls")
    if len(set(places)) != size or len(places) != size:
        wrong.append(f"{len(places)} calls of {len(set(places))} tasks")
    order = {place: number for number, place in enumerate(places)}
    early = [
        n
        for n in range(_DEPENDS_ON, size)
        if order.get(_place(n), size) < order.get(_place(n - _DEPENDS_ON), size)
    ]
    wrong += [f"t{n} started before its dependency" for n in early]
    if len(histories) < 4 and size >= 2000:
        wrong.append(f"only {len(histories)} histories")
    return wrong


def _place(number: int) -> str:
    return f"work/graph/{number}/act"


def main() -> int:
    """Read the arguments, play it, report the result."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.chaos.graphs",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--tasks", type=int, default=2000, help="how many tasks (2000)")
    parser.add_argument("--concurrency", type=int, default=20, help="how many at once (20)")
    args = parser.parse_args()
    wrong = asyncio.run(play(args.tasks, args.concurrency))
    for line in wrong[:20]:
        tell(line)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
