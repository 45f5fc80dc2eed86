"""Read how a run ended from the last event of its history."""

from pydantic import ValidationError
from temporalio.api.common.v1 import Payloads
from temporalio.api.history.v1 import HistoryEvent

from coterie.dsl.model.outcomes import Failure
from coterie.failures import CommandError
from coterie.runs.ends.end_facts import CLOSING_EVENTS, RunEnd
from coterie.storage.wire import data_converter
from coterie.workflows.core.views import TeamResult


def recorded_end(last: HistoryEvent) -> RunEnd | None:
    """Read how a run ended from the last event of its history; None if it is open."""
    match CLOSING_EVENTS.get(last.event_type):
        case "completed":
            result = _result_in(last.workflow_execution_completed_event_attributes.result)
            return RunEnd("completed", result)
        case "failed":
            failure = last.workflow_execution_failed_event_attributes.failure
            info = failure.application_failure_info
            found = Failure(type=info.type or "Failed", message=failure.message)
            return RunEnd("failed", _result_in(info.details), found)
        case "terminated":
            reason = last.workflow_execution_terminated_event_attributes.reason
            return RunEnd("terminated", details=reason)
        case state:
            return None if state is None else RunEnd(state)


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
