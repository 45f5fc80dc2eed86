"""How a run ended, as the last event that a client gets."""

from ag_ui.core import BaseEvent, RunErrorEvent, RunFinishedEvent
from ag_ui.core.events import RunFinishedCancelledOutcome, RunFinishedSuccessOutcome
from pydantic import JsonValue

from coterie.dsl.visible import visible
from coterie.gateway.doors.agui.run_translation import Ended, Ending, MessageAnswered
from coterie.gateway.operations.expected_errors import ExpectedError, failed_work


def final_context(ending: Ending) -> JsonValue:
    """Return the context with which a run ended; None if only the run can say it."""
    match ending:
        case Ended(end=end) if end.result is not None:
            return end.result.context
        case _:
            return None


def ending_event(ending: Ending, thread: str, run: str) -> BaseEvent:
    """Return the last event."""
    match ending:
        case MessageAnswered(error=error) if error:
            return RunErrorEvent(message=visible(error), code=error.partition(":")[0])
        case MessageAnswered(reply=reply):
            return _finished_event(thread, run, reply)
        case Ended(end=end) if end.state == "completed":
            return _finished_event(thread, run, None if end.result is None else end.result.output)
        case Ended(end=end) if end.outcome == "cancelled":
            return RunFinishedEvent(
                thread_id=thread, run_id=run, outcome=RunFinishedCancelledOutcome(type="cancelled")
            )
        case Ended(end=end):
            failure = end.failure
            message = end.details or f"the run was {end.state}"
            code = end.state.replace(" ", "_")
            if failure is not None:
                message, code = failure.message, failure.type
            return RunErrorEvent(message=visible(message), code=code)


def _finished_event(thread: str, run: str, result: JsonValue) -> BaseEvent:
    outcome = RunFinishedSuccessOutcome(type="success")
    return RunFinishedEvent(thread_id=thread, run_id=run, result=result, outcome=outcome)


def failed_event(error: ExpectedError) -> BaseEvent:
    """Return the last event where the run cannot be followed any more."""
    report = failed_work(error).report
    message = f"{report.message}. {report.fix}" if report.fix else report.message
    return RunErrorEvent(message=message, code=report.code)
