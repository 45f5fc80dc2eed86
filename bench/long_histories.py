"""The histories of a run of 10,000 steps: 60,000 events over several continue-as-new."""

from collections.abc import Mapping

from temporalio.api.common.v1 import Payload
from temporalio.api.enums.v1 import EventType
from temporalio.api.history.v1 import HistoryEvent

from coterie.activities.contracts import AgentRequest, AgentResponse, TokenUsage
from coterie.storage.wire import data_converter
from tests.support.recorded_pages import RecordedPages, SerialisedEvents

PARTS = 10
STEPS = 1_000
"""Of each history."""
_PAGE = 1_000

Histories = Mapping[str, SerialisedEvents]
"""`{run id: its events}`, oldest first."""


def long_pages(histories: Histories) -> RecordedPages:
    """Return what serves the run under each id; it is open."""
    return RecordedPages(histories, next(iter(histories)), size=_PAGE, is_open=True)


def long_run() -> Histories:
    """Return the events of a run of many steps."""
    run_ids = [f"00000000-0000-4000-8000-{number:012}" for number in range(PARTS)]
    pairs = zip(["", *run_ids], [*run_ids[1:], ""], strict=False)
    return {
        run_id: SerialisedEvents(_history(run_ids[0], run_id, before, after))
        for run_id, (before, after) in zip(run_ids, pairs, strict=True)
    }


def _history(first: str, run_id: str, before: str, after: str) -> list[HistoryEvent]:
    converter = data_converter.payload_converter
    (request,) = converter.to_payloads(
        [AgentRequest(team="work", task="write", inputs={"text": "x" * 500})]
    )
    usage = TokenUsage(input_tokens=100, output_tokens=20)
    (response,) = converter.to_payloads([AgentResponse(data={"text": "y" * 100}, usage=usage)])
    (summary,) = converter.to_payloads(["work/write"])
    start = _event(EventType.EVENT_TYPE_WORKFLOW_EXECUTION_STARTED, 1)
    attributes = start.workflow_execution_started_event_attributes
    attributes.first_execution_run_id, attributes.original_execution_run_id = first, run_id
    attributes.continued_execution_run_id = before
    events = [start]
    for step in range(STEPS):
        events += _step(len(events) + 1, f"{step:04}.work.write", request, response, summary)
    if after:
        last = _event(EventType.EVENT_TYPE_WORKFLOW_EXECUTION_CONTINUED_AS_NEW, len(events) + 1)
        last.workflow_execution_continued_as_new_event_attributes.new_execution_run_id = after
        events.append(last)
    return events


def _step(
    id: int, call: str, request: Payload, response: Payload, summary: Payload
) -> list[HistoryEvent]:
    tasks = [
        _event(type, id + offset)
        for offset, type in enumerate(
            (
                EventType.EVENT_TYPE_WORKFLOW_TASK_SCHEDULED,
                EventType.EVENT_TYPE_WORKFLOW_TASK_STARTED,
                EventType.EVENT_TYPE_WORKFLOW_TASK_COMPLETED,
            )
        )
    ]
    scheduled = _event(EventType.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED, id + 3)
    asked = scheduled.activity_task_scheduled_event_attributes
    asked.activity_id, asked.activity_type.name = call, "run_agent"
    asked.input.payloads.append(request)
    scheduled.user_metadata.summary.CopyFrom(summary)
    started = _event(EventType.EVENT_TYPE_ACTIVITY_TASK_STARTED, id + 4)
    started.activity_task_started_event_attributes.scheduled_event_id = id + 3
    started.activity_task_started_event_attributes.attempt = 1
    ended = _event(EventType.EVENT_TYPE_ACTIVITY_TASK_COMPLETED, id + 5)
    ended.activity_task_completed_event_attributes.scheduled_event_id = id + 3
    ended.activity_task_completed_event_attributes.result.payloads.append(response)
    return [*tasks, scheduled, started, ended]


def _event(type: "EventType.ValueType", id: int) -> HistoryEvent:
    event = HistoryEvent(event_id=id, event_type=type)
    event.event_time.seconds = 1_790_000_000 + id
    return event
