"""Errors of the gateway as errors of A2A: the code and the fix travel beside the sentence."""

from a2a.server.request_handlers.response_helpers import EXCEPTION_MAP
from a2a.utils.errors import (
    A2A_ERROR_MAPPING,
    A2A_ERROR_REASONS,
    JSON_RPC_ERROR_CODE_MAP,
    A2AError,
    ContentTypeNotSupportedError,
    ErrorMapping,
    InternalError,
    InvalidParamsError,
    InvalidRequestError,
    TaskNotFoundError,
    UnsupportedOperationError,
)

from coterie.gateway.operations.expected_errors import ExpectedError, failed_work


class NotAllowedError(InvalidRequestError):
    """The identity lacks a role; the protocol has no error for it."""


class UnavailableError(InternalError):
    """No worker, or no server, answers now."""


def register_errors() -> None:
    """Give the SDK the HTTP statuses of errors that the protocol lacks.

    Their reasons are known ones: a client shows no message of an unknown one.
    """
    forbidden = ErrorMapping(403, "PERMISSION_DENIED", A2A_ERROR_REASONS[InvalidRequestError])
    unavailable = ErrorMapping(503, "UNAVAILABLE", A2A_ERROR_REASONS[InternalError])
    for error, mapping in ((NotAllowedError, forbidden), (UnavailableError, unavailable)):
        A2A_ERROR_MAPPING[error] = mapping
        A2A_ERROR_REASONS[error] = mapping.reason
    JSON_RPC_ERROR_CODE_MAP[NotAllowedError] = JSON_RPC_ERROR_CODE_MAP[InvalidRequestError]
    JSON_RPC_ERROR_CODE_MAP[UnavailableError] = JSON_RPC_ERROR_CODE_MAP[InternalError]
    EXCEPTION_MAP[NotAllowedError] = EXCEPTION_MAP[InvalidRequestError]


def a2a_error(error: ExpectedError) -> A2AError:
    """Return an expected error as A2A reports it."""
    status, report = failed_work(error)
    text = f"{report.message}. {report.fix}" if report.fix else report.message
    return _kind(status, report.code)(text, {"code": report.code})


def _kind(status: int, code: str) -> type[A2AError]:
    match status:
        case 403:
            return NotAllowedError
        case 404 if code == "unknown_run":
            return TaskNotFoundError
        case 409:
            return UnsupportedOperationError
        case 415:
            return ContentTypeNotSupportedError
        case 503 | 504:
            return UnavailableError
        case _:
            return InvalidParamsError
