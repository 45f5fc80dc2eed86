"""Replays a recorded run against this code, and compares what it decides.

Temporal's replayer sees when other calls are made; it does not see another argument, another
route to the same calls, or another result. So the result of the replayed run, with the digest
chained over its every decision, is held against the one that was recorded.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass

from pydantic import JsonValue, ValidationError
from temporalio.api.common.v1 import Payloads
from temporalio.api.enums.v1 import EventType
from temporalio.api.history.v1 import HistoryEvent
from temporalio.client import WorkflowHistory
from temporalio.exceptions import ApplicationError, FailureError
from temporalio.worker import (
    ExecuteWorkflowInput,
    Interceptor,
    Replayer,
    UnsandboxedWorkflowRunner,
    WorkflowInboundInterceptor,
    WorkflowInterceptorClassInput,
)

from coterie.failures import CommandError
from coterie.wire import data_converter
from dsl.errors import TeamError
from workflows.messages import TeamResult
from workflows.team import TeamWorkflow


@dataclass(frozen=True, slots=True)
class Ending:
    """How a run ended, in history or in its replay."""

    result: TeamResult | None
    refusal: str | None = None
    """The message of a run that failed before it had any result."""


@dataclass(frozen=True, slots=True)
class Replayed:
    """What came of a replay."""

    run: str
    events: int
    recorded: Ending | None
    """None: the run had not ended when its history was taken."""
    differences: tuple[str, ...]
    """What this code decides otherwise; empty when nothing."""


async def replay(history: WorkflowHistory) -> Replayed:
    """Run the recorded run through this code, with what was recorded for its answers.

    Unsandboxed: nothing here is for ever, and the result has to come out.
    """
    capture = _Capture()
    replayer = Replayer(
        workflows=[TeamWorkflow],
        workflow_runner=UnsandboxedWorkflowRunner(),
        data_converter=data_converter,
        interceptors=[capture],
    )
    outcome = await replayer.replay_workflow(history, raise_on_replay_failure=False)
    recorded = ending(history.events[-1]) if history.events else None
    if outcome.replay_failure is not None:
        differences = (_first_line(outcome.replay_failure), *_said(capture.ending))
    elif recorded is None:
        differences = ()
    else:
        differences = tuple(_differences(recorded, capture.ending))
    return Replayed(history.workflow_id, len(history.events), recorded, differences)


class _Capture(Interceptor):
    """Takes down how the replayed run ends."""

    def __init__(self) -> None:
        self.ending = Ending(None)

    def workflow_interceptor_class(
        self, input: WorkflowInterceptorClassInput
    ) -> type[WorkflowInboundInterceptor]:
        """A class that knows this object, which works since there is no sandbox."""
        capture = self

        class Inbound(WorkflowInboundInterceptor):
            async def execute_workflow(self, input: ExecuteWorkflowInput) -> object:
                try:
                    result: object = await super().execute_workflow(input)
                except (FailureError, TeamError) as error:
                    capture.ending = _failed(error)
                    raise
                capture.ending = Ending(TeamResult.model_validate(result))
                return result

        return Inbound


def _failed(error: FailureError | TeamError) -> Ending:
    if isinstance(error, ApplicationError) and error.details:
        return Ending(TeamResult.model_validate(error.details[0]))
    return Ending(None, str(error))


def ending(last: HistoryEvent) -> Ending | None:
    """How a run ended, from its last event; None when it had not, or ended without a word."""
    match last.event_type:
        case EventType.EVENT_TYPE_WORKFLOW_EXECUTION_COMPLETED:
            return Ending(_result_in(last.workflow_execution_completed_event_attributes.result))
        case EventType.EVENT_TYPE_WORKFLOW_EXECUTION_FAILED:
            failure = last.workflow_execution_failed_event_attributes.failure
            result = _result_in(failure.application_failure_info.details)
            return Ending(result, None if result else failure.message)
        case _:
            return None


def _result_in(payloads: Payloads) -> TeamResult | None:
    if not payloads.payloads:
        return None
    converter = data_converter.payload_converter
    try:
        return converter.from_payload(payloads.payloads[0], TeamResult)
    except (ValidationError, RuntimeError):
        raise CommandError(
            "this is not the history of a run of ours: its result is another"
        ) from None


def _differences(recorded: Ending, replayed: Ending) -> Iterator[str]:
    if recorded.result is None or replayed.result is None:
        if recorded != replayed:
            yield _told("the end", _end(recorded), _end(replayed))
        return
    before = recorded.result.model_dump(mode="json")
    after = replayed.result.model_dump(mode="json")
    for field in before:
        yield from _in_value(field, before[field], after[field])


def _in_value(place: str, before: JsonValue, after: JsonValue) -> Iterator[str]:
    if isinstance(before, dict) and isinstance(after, dict):
        for key in dict.fromkeys((*before, *after)):
            yield from _in_value(f"{place}.{key}", before.get(key), after.get(key))
    elif before != after:
        yield _told(place, before, after)


def _told(place: str, before: object, after: object) -> str:
    return f"{place}: recorded {_short(before)}, now {_short(after)}"


def _end(ending: Ending) -> str:
    return ending.result.end if ending.result else ending.refusal or "no result"


def _short(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 100 else f"{text[:97]}..."


def _said(replayed: Ending) -> tuple[str, ...]:
    """What the run says now, where it ends before it made the calls that were recorded."""
    return () if replayed.refusal is None else (f"it ends with: {replayed.refusal}",)


def _first_line(failure: Exception) -> str:
    return str(failure).splitlines()[0] if str(failure) else type(failure).__name__
