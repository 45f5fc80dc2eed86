"""What a replay finds out about each visit: what its rules, branches and conditions evaluated to.

`python -m tests.unit.coterie.replay.test_decision_traces` writes the expected files anew.
"""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from coterie.dsl.evaluate.context import PathChange
from coterie.dsl.evaluate.evidence import Examined, TriedAlternatives
from coterie.dsl.values import JsonValue
from coterie.replay.rebuilt_run import Rebuilt, rebuilt
from coterie.replay.trace_events import TraceEvent, Visit
from coterie.storage.histories import read_history
from tests.replay.record import HISTORIES

FILES = Path(__file__).parents[3] / "data" / "decision_traces"
RUNS = (
    "asked_on_failure.0.1.0",
    "callers_pay.0.1.0",
    "context_updates.0.1.0",
    "every_kind.0.1.0",
    "fan_out.0.1.0",
    "limit.0.1.0",
    "long.0.1.0.link2",
    "nested_tools.0.1.0",
    "recurring_failures.0.1.0",
    "review_loop.0.1.0",
    "steered.0.1.0",
    "task_graph.0.1.0",
    "terms.0.1.0",
)


async def trace_of(name: str) -> dict[str, JsonValue]:
    """Each visit with its facts; what is not there is left out."""
    run = await rebuilt(read_history(HISTORIES / f"{name}.json"))
    assert isinstance(run, Rebuilt)
    visits = run.visits.values()
    found: dict[str, JsonValue] = {visit.name: dict(_visit(visit)) for visit in visits}
    if run.graphs:
        found["graphs"] = {str(step): len(graph.tasks) for step, graph in run.graphs.items()}
    return found


def _visit(visit: Visit) -> Iterator[tuple[str, JsonValue]]:
    for key in ("began", "ended"):
        yield key, getattr(visit, key) is not None  # each recording has moments of its own
    for key in ("status", "next_team", "default"):
        if (value := getattr(visit, key)) is not None:
            yield key, value
    if visit.rules is not None:
        yield "rules", [_alternative(one) for one in visit.rules]
    if visit.changes:
        yield "changes", [_change(one) for one in visit.changes]
    if visit.happened:
        yield "happened", [_event(one) for one in visit.happened]


def _event(event: TraceEvent) -> JsonValue:
    entry = event.entry
    line = f"{entry.number} {entry.kind} {entry.step} {entry.status}"
    found: list[JsonValue] = [_alternative(one) for one in event.alternatives]
    if event.when is not None:
        found.append(_examined(event.when))
    found += [_change(one) for one in event.changes]
    return {line: found} if found else line


def _alternative(one: TriedAlternatives) -> JsonValue:
    found: list[JsonValue] = [one.number, one.leads_to, one.taken]
    return found if one.condition is None else [*found, _examined(one.condition)]


def _examined(one: Examined) -> JsonValue:
    if one.parts:
        return [one.asked, one.holds, [_examined(part) for part in one.parts]]
    return [one.holds, one.finding]


def _change(one: PathChange) -> JsonValue:
    return f"{one.change} {one.path}: {one.before} -> {one.after}"


@pytest.mark.parametrize("name", RUNS)
async def test_a_replay_finds_out_on_which_facts_each_visit_was_decided(name: str) -> None:
    assert await trace_of(name) == yaml.safe_load((FILES / f"{name}.yml").read_text())


def write() -> None:
    """Write each expected file from its history."""
    for name in RUNS:
        made = yaml.safe_dump(asyncio.run(trace_of(name)), sort_keys=False, allow_unicode=True)
        (FILES / f"{name}.yml").write_text(made)


if __name__ == "__main__":
    write()
