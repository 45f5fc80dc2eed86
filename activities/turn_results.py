"""What an activity returns for a model turn: a result that fits in a history, or a failure."""

from temporalio.exceptions import ApplicationError

from coterie.activities.contracts import (
    AgentError,
    AgentRequest,
    AgentResponse,
    FailureType,
)
from coterie.activities.metering import Meter

MAX_RESPONSE_SIZE = 1_500_000
"""Bytes of JSON. Temporal takes 2 MiB; a larger result would fail after the work is paid for."""


def unusable(request: AgentRequest, error: Exception, *, non_retryable: bool) -> ApplicationError:
    """Return the failure of a turn whose conversation cannot be read or stored."""
    return ApplicationError(
        f"task {request.task!r} cannot continue its conversation: {error}",
        type=FailureType.STORAGE_UNUSABLE,
        non_retryable=non_retryable,
    )


def sendable(response: object, request: AgentRequest, meter: Meter) -> AgentResponse:
    """Return the response with its cost, or a failure if it cannot be sent."""
    where = f"task {request.task!r}"
    if not isinstance(response, AgentResponse):
        message = f"{where}: its agent returned a {type(response).__name__}, not an AgentResponse"
        error = AgentError(type=FailureType.AGENT_FAILED, message=message)
        return meter.billed(AgentResponse(success=False, error=error))
    response = meter.billed(response)
    try:
        size = len(response.__pydantic_serializer__.to_json(response))
    except ValueError as error:
        return _instead(
            response, FailureType.AGENT_FAILED, f"{where}: its agent's answer is not JSON: {error}"
        )
    if size > MAX_RESPONSE_SIZE:
        return _instead(
            response,
            FailureType.ANSWER_TOO_LARGE,
            f"{where}: the answer has {size:,} bytes; at most {MAX_RESPONSE_SIZE:,} fit in a "
            "run's history. Ask for less, or let a skill write it to a file",
        )
    return response


def _instead(response: AgentResponse, type: str, message: str) -> AgentResponse:
    error = AgentError(type=type, message=message)
    return response.model_copy(
        update={
            "success": False,
            "data": None,
            "answer": None,
            "error": error,
            "conversation": None,
            "tool_calls": (),
        }
    )
