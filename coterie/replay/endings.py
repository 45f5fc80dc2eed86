"""Read how a run ended from the last event of its history."""

from dataclasses import dataclass

from pydantic import ValidationError
from temporalio.api.common.v1 import Payloads
from temporalio.api.enums.v1 import EventType
from temporalio.api.history.v1 import HistoryEvent

from coterie.failures import CommandError
from coterie.storage.wire import data_converter
from workflows.core.views import TeamResult


@dataclass(frozen=True, slots=True)
class Ending:
    """How a run ended."""

    result: TeamResult | None
    refusal: str | None = None
    """The message of a run that failed without a result."""


def ending(last: HistoryEvent) -> Ending | None:
    """Read how a run ended from its last event; None if it is open or ended without a message."""
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
            "this is not the history of a Coterie run: its result has another form"
        ) from None
