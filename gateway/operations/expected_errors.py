"""Which errors a door expects of its work, and how each is reported. All others are defects."""

from typing import Final

from pydantic import ValidationError
from temporalio.service import RPCError

from coterie.dsl.errors import InvalidDocument
from coterie.failures import CommandError
from coterie.gateway.operations.error_reports import (
    FailedRequest,
    failed_request,
    invalid_input,
    problems_of,
)
from coterie.runs.call_errors import Unanswered

ExpectedError = CommandError | InvalidDocument | ValidationError | RPCError | TimeoutError
EXPECTED_ERRORS: Final = (CommandError, InvalidDocument, ValidationError, RPCError, TimeoutError)


def failed_work(error: ExpectedError) -> FailedRequest:
    """Return status and report of an error that a door expects."""
    match error:
        case CommandError() | InvalidDocument():
            return failed_request(error)
        case ValidationError():
            return invalid_input(problems_of(error), "")
        case RPCError() | TimeoutError():
            return failed_request(Unanswered("the Temporal server does not answer"))
