"""The histories behind a run: nothing that a reset replaced is left out, however it was reset."""

from temporalio.api.enums.v1 import EventType
from temporalio.api.history.v1 import HistoryEvent
from temporalio.client import WorkflowHistory

from coterie.audit.run_histories import RunHistories, run_histories
from coterie.storage.wire import data_converter
from coterie.workflows.core.messages import ForkInput, TeamInput
from tests.support.servers.recorded_client import Recorded, client_of

STARTED = EventType.EVENT_TYPE_WORKFLOW_EXECUTION_STARTED
CONTINUED = EventType.EVENT_TYPE_WORKFLOW_EXECUTION_CONTINUED_AS_NEW
FAILED = EventType.EVENT_TYPE_WORKFLOW_TASK_FAILED


def start(previous: str = "", fork: ForkInput | None = None) -> HistoryEvent:
    event = HistoryEvent(event_id=1, event_type=STARTED)
    it = event.workflow_execution_started_event_attributes
    it.continued_execution_run_id = previous
    given = TeamInput(team="t", fork=fork)
    it.input.payloads.extend(data_converter.payload_converter.to_payloads([given]))
    return event


def reset(id: int, base: str, new: str) -> HistoryEvent:
    event = HistoryEvent(event_id=id, event_type=FAILED)
    it = event.workflow_task_failed_event_attributes
    it.base_run_id, it.new_run_id = base, new
    return event


def continued(next: str) -> HistoryEvent:
    event = HistoryEvent(event_id=9, event_type=CONTINUED)
    event.workflow_execution_continued_as_new_event_attributes.new_execution_run_id = next
    return event


async def found(latest: str, histories: dict[str, list[HistoryEvent]]) -> RunHistories:
    parts = {run_id: WorkflowHistory("pay", events) for run_id, events in histories.items()}
    known = Recorded([parts[latest]], parts, latest)
    return await run_histories(await client_of(known), "pay")


def told(histories: RunHistories) -> list[tuple[str, int, str]]:
    assert histories.missing == ()
    covered = [part.covered for part in histories.parts]
    return [(part.run_id, part.first, part.superseded_by) for part in covered]


async def test_a_reset_to_before_a_reset_keeps_what_both_replaced() -> None:
    histories = {
        "A": [start()],
        "B": [start(), reset(20, "A", "B")],
        "C": [start(), reset(10, "B", "C")],
    }
    expected = [("A", 20, "B"), ("B", 10, "C"), ("C", 1, "")]
    assert told(await found("C", histories)) == expected
    again = [start(), reset(20, "A", "B"), reset(30, "B", "C")]
    expected[1] = ("B", 30, "C")
    assert told(await found("C", {**histories, "C": again})) == expected


async def test_a_reset_to_before_continue_as_new_keeps_every_later_history() -> None:
    histories = {
        "X1": [start(), continued("X2")],
        "X2": [start("X1"), continued("X3")],
        "X3": [start("X2")],
        "new": [start(), reset(5, "X1", "new")],
    }
    assert told(await found("new", histories)) == [
        ("X1", 5, "new"),
        ("X2", 1, "new"),
        ("X3", 1, "new"),
        ("new", 1, ""),
    ]


async def test_a_long_fork_has_its_origin_and_a_forged_circle_ends() -> None:
    histories = {f"r{number}": [start(f"r{number - 1}")] for number in range(1, 120)}
    first = {"r0": [start(fork=ForkInput(run="pay", run_id="origin"))], "origin": [start()]}
    parts = (await found("r119", {**histories, **first})).parts
    assert [part.covered.run_id for part in parts][:2] == ["origin", "r0"]
    assert len(parts) == 121
    circle = {"one": [start(fork=ForkInput(run="pay", run_id="one"))]}
    assert told(await found("one", circle)) == [("one", 1, "")]
