"""A change that would break the runs in flight goes behind a patch: the example of the docs.

Each patch has a recorded run on either side.
"""

import json
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import Any

import pytest
from temporalio import workflow
from temporalio.client import WorkflowHistory
from temporalio.testing import WorkflowEnvironment

import workflows.agents.model_fallback
from coterie.replay.replay import replay
from coterie.storage.histories import read_history
from tests.replay.record import HISTORIES
from tests.support.engine import engine
from workflows.core.location import Location
from workflows.core.patches import Patch
from workflows.core.scope import Call, CallOptions, Scope
from workflows.plan_source import REFUSED


class Trial(StrEnum):
    """As a change of the interpreter would add it to `Patch`."""

    CALLS_BY_VISIT = "calls-by-visit"


made: Any = workflows.agents.model_fallback.turn_call


def by_visit(
    name: str, place: Location, scope: Scope, options: CallOptions, suffix: str = ""
) -> Call:
    """The change itself: the ids of calls say the visit of their team."""
    call: Call = made(name, place, scope, options, suffix)
    return call._replace(id=f"{call.id}.v{place.visit}")


def patched(
    name: str, place: Location, scope: Scope, options: CallOptions, suffix: str = ""
) -> Call:
    """The change behind a patch."""
    trial: Any = Trial.CALLS_BY_VISIT
    if scope.patched(trial):
        return by_visit(name, place, scope, options, suffix)
    call: Call = made(name, place, scope, options, suffix)
    return call


async def test_without_a_patch_the_change_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workflows.agents.model_fallback, "turn_call", by_visit)
    done = await replay(read_history(HISTORIES / "long.0.1.0.json"))
    assert done.differences[0] == (
        "recorded the call 0001.count.ask (count/rounds/ask), "
        "now the call 0001.count.ask.v1 (count/rounds/ask)"
    )


async def test_behind_a_patch_old_histories_replay_as_they_were(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(workflows.agents.model_fallback, "turn_call", patched)
    for file in sorted(HISTORIES.glob("*.json")):
        assert (await replay(read_history(file))).differences == (), file.name


async def test_behind_a_patch_new_runs_take_the_new_way(
    env: WorkflowEnvironment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workflows.agents.model_fallback, "turn_call", patched)
    team = """
orchestration:
  entry_team: a
  teams: {a: {tasks: [{name: ask, agent_type: generic_single_shot, persona_key: writer}]}}
"""
    answers = [{"task": "ask", "answer": "yes"}]
    async with engine(env, tmp_path, answers, everything=False) as running:  # type: ignore[arg-type]
        handle = await running.start(team)
        await handle.result()
        history = await handle.fetch_history()
    ids = [
        event.activity_task_scheduled_event_attributes.activity_id
        for event in history.events
        if event.HasField("activity_task_scheduled_event_attributes")
    ]
    assert ids == ["0001.a.ask.v1"]
    assert (await replay(history)).differences == ()


def asked_for(history: WorkflowHistory) -> Iterator[str]:
    """The patches that the run has taken, as Temporal's markers name them."""
    for event in history.events:
        marker = event.marker_recorded_event_attributes
        if marker.marker_name == "core_patch":
            for payload in marker.details["patch-data"].payloads:
                yield json.loads(payload.data)["id"]


def is_older(file: Path, patch: str) -> bool:
    """Whether the run may lack the patch: it was recorded without, or patches come later."""
    return ".before" in file.name or (patch == REFUSED and ".link" not in file.name)


async def is_on_the_other_side(
    patch: str, file: Path, monkeypatch: pytest.MonkeyPatch, *, takes: bool
) -> bool:
    """Whether the recorded run would have decided otherwise on the other side of the patch."""
    asked = workflow.patched

    def patched(id: str) -> bool:
        return takes if id == patch else asked(id)

    with monkeypatch.context() as changed:
        changed.setattr(workflow, "patched", patched)
        return (await replay(read_history(file))).differences != ()


@pytest.mark.parametrize("patch", [*map(str, Patch), REFUSED])
async def test_every_patch_has_a_recorded_run_on_either_side(
    patch: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    new: list[str] = []
    old: list[str] = []
    for file in sorted(HISTORIES.glob("*.json")):
        takes = patch in asked_for(read_history(file))
        if not takes and not is_older(file, patch):
            continue
        if await is_on_the_other_side(patch, file, monkeypatch, takes=not takes):
            (new if takes else old).append(file.name)
    message = "add a case with `before: [...]` to tests/replay/cases, and record it"
    assert new, f"no recorded run takes {patch}: {message}"
    assert old, f"no recorded run would have taken {patch}: {message}"
