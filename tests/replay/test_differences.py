"""Whatever this code decides otherwise is reported, also of a run that has not ended.

Each test changes the interpreter in a way that makes the same calls under the same ids, and which
Temporal's own replayer therefore passes.
"""

from dataclasses import replace
from datetime import datetime
from typing import Any

import pytest
from temporalio.client import WorkflowHistory

from coterie.dsl.evaluate.context_writes import ContextWrite
from coterie.dsl.evaluate.prompt_facts import slice_for
from coterie.dsl.evaluate.routing import Route, choose
from coterie.dsl.evaluate.waits import RefusedWait, length_of_wait
from coterie.dsl.model.facts import Facts
from coterie.dsl.model.plan import Persona, Team
from coterie.dsl.model.steps import PersonaStep
from coterie.dsl.values import Json, JsonValue
from coterie.replay.observed_replay import ReplayObserver, observed
from coterie.replay.replay import Replayed, replay
from coterie.storage.histories import read_history
from coterie.workflows import interpreter
from coterie.workflows.agents import single_turns
from coterie.workflows.core.messages import DecideInput, RedirectInput
from coterie.workflows.core.requests import Decision
from coterie.workflows.core.state import RunState
from coterie.workflows.handlers import message_handlers
from coterie.workflows.steps import wait
from tests.replay.record import HISTORIES


def history(name: str, *, goes_on: bool = False) -> WorkflowHistory:
    """A committed history; one that goes on lacks its end, and what led to it."""
    whole = read_history(HISTORIES / f"{name}.json")
    events = list(whole.events)
    if goes_on:
        while not events[-1].HasField("activity_task_scheduled_event_attributes"):
            events.pop()
    return WorkflowHistory(whole.workflow_id, events)


async def replayed(name: str, *, goes_on: bool = False) -> Replayed:
    """The replay; Temporal's own replayer has nothing to say against it."""
    taken = history(name, goes_on=goes_on)
    assert await observed(taken, ReplayObserver()) is None
    return await replay(taken)


@pytest.mark.parametrize("name", ["long.0.1.0", "fan_out.0.1.0", "steered.0.1.0"])
async def test_a_run_that_goes_on_replays_without_an_end(name: str) -> None:
    done = await replayed(name, goes_on=True)
    assert (done.end, done.differences) == (None, ())
    assert done.calls > 0


async def test_a_changed_slice_of_a_prompt_is_reported_with_its_team_step_and_visit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def more(persona: Persona, step: PersonaStep, facts: Facts, allowed: Any = None) -> Json:
        context: Json = {**facts.context, "more": 1}
        return {**slice_for(persona, step, facts), "context": context}

    monkeypatch.setattr(single_turns, "slice_for", more)
    done = await replayed("long.0.1.0", goes_on=True)
    assert done.differences[0] == (
        "count/rounds/ask#1: input.inputs.context.more: recorded nothing, now 1"
    )


async def test_a_changed_context_update_is_reported_where_its_value_is_first_used(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def altered(team: Team, facts: Facts) -> Route:
        route = choose(team, facts)
        return replace(route, writes=(ContextWrite("sum", 7),))

    monkeypatch.setattr(interpreter, "choose", altered)
    done = await replayed("long.0.1.0.link2", goes_on=True)
    assert done.differences[0] == (
        "count/rounds/ask#2: input.inputs.context.sum: recorded 2, now 7"
    )


async def test_a_changed_state_at_the_end_of_a_link_is_reported(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    carried = RunState.carried

    def forgetful(self: RunState) -> Json:
        return carried(self) | {"teams_run": 0}

    monkeypatch.setattr(RunState, "carried", forgetful)
    done = await replayed("long.0.1.0")
    assert done.differences == ("carried.teams_run: recorded 1, now 0",)


async def test_field_of_a_later_version_is_not_a_difference(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    carried = RunState.carried

    def richer(self: RunState) -> Json:
        return {**carried(self), "ledger": [1]}

    monkeypatch.setattr(RunState, "carried", richer)
    done = await replayed("long.0.1.0")
    assert done.differences == ()
    assert "carried.ledger" in done.more


async def test_a_changed_length_of_a_timer_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    def later(written: JsonValue) -> float | RefusedWait:
        length = length_of_wait(written)
        return length if isinstance(length, RefusedWait) else length + 1

    monkeypatch.setattr(wait, "length_of_wait", later)
    done = await replayed("every_kind.0.1.0")
    assert done.differences[0] == ("timer 1 (start/t/nap): seconds: recorded 7200.0, now 7201.0")


async def test_a_changed_answer_to_a_person_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    record = message_handlers.decisions.record

    def otherwise(state: RunState, asked: DecideInput, now: datetime, how: Any) -> Decision:
        return record(state, asked, now, how).model_copy(update={"comment": "never said"})

    monkeypatch.setattr(message_handlers.decisions, "record", otherwise)
    done = await replayed("terms.0.1.0")
    assert done.differences[0].startswith("the answer to update ")
    assert 'answer.comment: recorded nothing, now "never said"' in done.differences[0]


async def test_difference_of_two_long_texts_shows_where_they_part(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def other(persona: Persona, step: PersonaStep, facts: Facts, allowed: Any = None) -> Json:
        given = slice_for(persona, step, facts)
        return {**given, "input": {"part": "x" * 300 + str(given["input"])}}

    monkeypatch.setattr(single_turns, "slice_for", other)
    first = (await replayed("fan_out.0.1.0")).differences[0]
    assert first.startswith('left/work#1: input.inputs.input.part: recorded "left", now "xxx')
    assert len(first) < 300


async def test_another_call_is_named_beside_the_one_that_was_recorded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def elsewhere(team: Team, facts: Facts) -> Route:
        route = choose(team, facts)
        return replace(route, next_team="write") if team.id == "write" else route

    def nowhere(asked: RedirectInput) -> None:
        return None

    monkeypatch.setattr(interpreter, "_redirect_route", nowhere)
    monkeypatch.setattr(interpreter, "choose", elsewhere)
    done = await replay(history("steered.0.1.0"))
    text = "\n".join(done.differences)
    assert "recorded the call 0002.polish.polish (polish/polish), now " in text
    assert "Nondeterminism" in text


async def test_the_number_of_differences_that_are_reported_is_bounded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def other(persona: Persona, step: PersonaStep, facts: Facts, allowed: Any = None) -> Json:
        return {f"k{number}": number for number in range(15)}

    monkeypatch.setattr(single_turns, "slice_for", other)
    done = await replayed("fan_out.0.1.0")
    assert len(done.differences) == 21
    assert done.differences[-1] == "and 12 more"


@pytest.mark.parametrize(
    ("name", "end"), [("limit.0.1.0", "failed"), ("blocks.0.1.0", "completed")]
)
async def test_a_run_that_ends_with_another_result_is_reported(name: str, end: str) -> None:
    taken = history(name)
    event = WorkflowHistory.from_json("again", taken.to_json()).events[-1]
    match end:
        case "failed":
            failure = event.workflow_execution_failed_event_attributes.failure
            payload = failure.application_failure_info.details.payloads[0]
        case _:
            payload = event.workflow_execution_completed_event_attributes.result.payloads[0]
    payload.data = payload.data.replace(b"{", b'{"other":1,', 1)
    done = await replay(WorkflowHistory(taken.workflow_id, [*taken.events[:-1], event]))
    assert done.end is not None
    assert done.end.facts["ended"] == end
    assert done.differences != ()
