"""Signals with a name of the plan: kept in order for the step that waits, and only so many."""

from datetime import UTC, datetime

import pytest
from pydantic import JsonValue
from temporalio import workflow
from temporalio.common import RawValue

from coterie.storage.wire import data_converter
from tests.support.compiling import plan_of
from workflows.core.state import RunState
from workflows.handlers.early_messages import EarlySignals
from workflows.handlers.message_handlers import MessageHandlers

PLAN = """
orchestration:
  entry_team: work
  teams:
    work:
      tasks: [{name: nod, type: wait, signal: go}]
"""


class Listening(MessageHandlers):
    """A run that can judge messages."""

    def __init__(self) -> None:
        self.plan = plan_of(PLAN)
        self.state = RunState()
        self.done = False
        self.listens = True
        self.early = EarlySignals()

    async def listening(self) -> None:
        return


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Listening:
    monkeypatch.setattr(workflow, "payload_converter", lambda: data_converter.payload_converter)
    monkeypatch.setattr(workflow, "now", lambda: datetime(2026, 1, 1, tzinfo=UTC))
    return Listening()


def raw(value: JsonValue) -> list[RawValue]:
    return [RawValue(data_converter.payload_converter.to_payload(value))]


def refusals(run: Listening) -> list[str]:
    return [entry.because for entry in run.state.trail if entry.kind == "refused"]


async def test_the_hundredth_signal_that_waits_is_kept_and_the_next_is_refused(
    run: Listening,
) -> None:
    for number in range(100):
        await run.keep_signal("go", raw(number))
    assert refusals(run) == []
    await run.keep_signal("go", raw("one more"))
    assert refusals(run) == ["100 signals 'go' wait already"]
    assert run.state.signals == {"go": list(range(100))}
    run.state.signals["go"].pop(0)
    await run.keep_signal("go", raw("room again"))
    assert run.state.signals["go"][-2:] == [99, "room again"]


async def test_a_signal_that_nothing_waits_for_is_refused_and_not_kept(run: Listening) -> None:
    await run.keep_signal("gone", raw(1))
    run.plan = None
    await run.keep_signal("go", raw(1))
    text = "no step of this plan waits for a signal "
    assert refusals(run) == [f"{text}'gone'", f"{text}'go'"]
    assert run.state.signals == {}


async def test_waiting_signals_of_one_name_are_bounded_in_size(run: Listening) -> None:
    large = "x" * 60_000
    for _ in range(200):
        await run.keep_signal("go", raw(large))
        if refusals(run):
            break
    kept = len(run.state.signals["go"])
    assert 0 < kept < 100
    assert refusals(run)[0].startswith("what waits as signal 'go'")
