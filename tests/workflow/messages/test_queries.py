"""Whoever asks a run gets what it remembers, in answers that can be read, and never a traceback."""

import json
from collections.abc import AsyncGenerator
from typing import Any

import pytest
import pytest_asyncio
from pydantic import JsonValue
from temporalio.client import WorkflowQueryFailedError
from temporalio.testing import WorkflowEnvironment

from coterie.dsl.model.outcomes import Failure, Outcome
from coterie.workflows.core.causes.step_causes import Failed
from coterie.workflows.core.extract import MAX_ANSWER_SIZE
from coterie.workflows.core.messages import StateAsked
from coterie.workflows.core.state import MAIN, RunState, TrailRecord
from coterie.workflows.core.state_parts import Frame
from coterie.workflows.handlers import query_handlers as looking
from tests.support.engine import Engine, engine
from tests.support.runs import asked, decide

TWO_TEAMS = """
orchestration:
  entry_team: draft
  teams:
    draft:
      tasks: [{ name: note, type: set, values: { n: 1 } }]
      routing:
        rules:
          - condition: all_success
            next_team: review
            context_updates: { number: "{{ tasks.note.data.n }}" }
    review:
      tasks:
        - { name: look, type: set, values: { seen: "{{ context.number }}" } }
        - { name: sign_off, type: approval, prompt: Good? }
"""
CONTEXT: dict[str, JsonValue] = {"topic": "rain", "book": "x" * 60_000}


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def here(
    env: WorkflowEnvironment, tmp_path_factory: pytest.TempPathFactory
) -> AsyncGenerator[Engine]:
    async with engine(env, tmp_path_factory.mktemp("queries"), []) as made:
        yield made


async def test_the_state_of_a_run_is_what_its_steps_see(here: Engine) -> None:
    handle: Any = await here.start(TWO_TEAMS, CONTEXT)
    await asked(handle)
    state = await handle.query("state")
    assert state["whole"] is False
    value = state["value"]
    assert value["context"]["number"] == 1
    assert value["context"]["book"]["path"] == "context.book"
    assert (value["team"], value["visit"]) == ("review", 1)
    assert value["tasks"] == {"look": {"status": "success", "data": {"seen": 1}}}
    assert value["variables"] == {"seen": 1}
    assert value["teams"]["draft"]["tasks"]["note"]["data"] == {"n": 1}
    assert value["routing"]["because"] == "rule 1: all_success (note success)"
    assert value["visits"] == {"draft": 1, "review": 1}
    assert list(value["pending"]) == ["review/sign_off#1"]
    part = await handle.query("state", {"path": "context.book", "start": 59_990})
    assert (part["value"], part["size"], part.get("next")) == ("x" * 10, 60_002, None)
    assert (await handle.query("state", "visits.draft"))["value"] == 1
    await decide(handle, "review/sign_off#1")
    await handle.result()
    ended = await handle.query("state", "context.number")
    assert ended == {"path": "context.number", "value": 1, "size": 1, "whole": True}


async def test_a_question_that_is_none_is_answered_with_a_sentence(here: Engine) -> None:
    handle: Any = await here.start(TWO_TEAMS, CONTEXT)
    await asked(handle)
    questions: list[tuple[str, Any, str]] = [
        ("events", "x", "ask with nothing, a number like 12"),
        ("events", {"from": 1}, "ask with nothing, a number like 12"),
        ("events", [1], "ask with nothing, a number like 12"),
        ("state", 12, 'a path like "context.topic"'),
        ("state", {"path": "context", "start": -1}, 'a path like "context.topic"'),
        ("state", "context.topik", "at 'context' there is book, number, topic"),
        ("state", "tasks.look.data.seen.x", "there is a value with nothing in it"),
    ]
    for query, argument, answer in questions:
        with pytest.raises(WorkflowQueryFailedError) as error:
            await handle.query(query, argument)
        assert answer in str(error.value)
        assert "Traceback" not in str(error.value)
    assert len((await handle.query("events", 2))["entries"]) == 3
    assert await handle.query("events", {"since": 2}) == await handle.query("events", 2)
    assert len((await handle.query("events", None))["entries"]) == 5


def remembering(entries: int, because: str) -> RunState:
    state = RunState()
    cause = Failed("branch_failed", Failure("Oops", because))
    for number in range(1, entries + 1):
        state.note(TrailRecord(number, 0.0, "step", "draft", 1, f"step {number}", "failure", cause))
    return state


@pytest.mark.parametrize("because", ["rule 1: it holds", "x" * 900, "ö" * 100_000])
def test_events_come_in_pages_that_the_temporal_command_shows_whole(because: str) -> None:
    state = remembering(2_500, because)
    since, numbers = 0, list[int]()
    while True:
        page = looking.events(state, since)
        assert len(page.model_dump_json().encode()) < 32 * 1024
        numbers += [entry.number for entry in page.entries]
        if not page.more:
            break
        since = numbers[-1]
    assert numbers == list(range(numbers[0], 2_501))
    assert page.first == numbers[0]
    assert len(numbers) >= 1000
    assert looking.events(state, 2_499).entries[0].number == 2_500
    assert looking.events(state, 9_999).entries == ()


def test_the_ways_and_blocks_of_a_run_are_seen_too() -> None:
    state = RunState()
    state.main.team, state.main.visit = "draft", 2
    state.frames[f"{MAIN}:draft#2"] = Frame(tasks={"note": Outcome.failed("Odd", "so")})
    state.frames[f"{MAIN}:draft#2/plan"] = Frame(variables={"n": 1}, input="given")
    state.tracks[f"{MAIN}>left"] = type(state.main)(team="left", visit=1, context={"a": 1})
    view: Any = looking.look(state, StateAsked()).value
    error = {"type": "Odd", "message": "so"}
    assert view["tasks"]["note"] == {"status": "failure", "data": None, "error": error}
    assert view["branches"][f"{MAIN}>left"]["context"] == {"a": 1}
    assert view["frames"][f"{MAIN}:draft#2/plan"] == {
        "tasks": {},
        "variables": {"n": 1},
        "input": "given",
    }
    assert len(json.dumps(view)) < MAX_ANSWER_SIZE
