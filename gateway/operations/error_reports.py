"""How an operation that fails says so: a code, a sentence, and the fix."""

from collections.abc import Sequence
from typing import Final, NamedTuple

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from coterie.dsl.errors import InvalidDocument
from coterie.dsl.values import Documented
from coterie.dsl.visible import shortened_text, visible
from coterie.failures import CommandError, ExitCode
from coterie.runs.call_errors import NoWorker, QueryRefused, Unanswered, UnknownRun
from coterie.runs.new_runs import IdTaken
from coterie.runs.sessions import MessageRefusedError

_MAX_MESSAGE_LENGTH: Final = 2_000
_MAX_PROBLEMS: Final = 5


class ErrorReport(Documented):
    """Why a request failed."""

    code: str
    """Stable, for programs."""
    message: str
    """What is wrong, in one or two sentences."""
    fix: str = ""
    """What to do about it; empty where the sentence says so."""


class FailedRequest(NamedTuple):
    """An error and its HTTP status."""

    status: int
    report: ErrorReport


class Rejection(CommandError):
    """The gateway itself refuses a request."""

    def __init__(self, status: int, code: str, message: str, fix: str = "") -> None:
        super().__init__(message, ExitCode.CALL_WRONG)
        self.status = status
        self.code = code
        self.fix = fix


SIGNED_OUT: Final = FailedRequest(
    401,
    ErrorReport(
        code="signed_out",
        message="the request does not show who asks",
        fix="Sign in, or send a token in the header `Authorization: Bearer TOKEN`.",
    ),
)
UNEXPECTED: Final = FailedRequest(
    500,
    ErrorReport(
        code="unexpected",
        message="the operation failed unexpectedly; the log of the gateway has the reason",
        fix="Repeat the request; if it fails again, report it with the log.",
    ),
)
UNKNOWN_PATH: Final = FailedRequest(
    404,
    ErrorReport(
        code="unknown_path",
        message="there is no such path",
        fix="GET /v1/openapi.json lists the operations.",
    ),
)
UNKNOWN_METHOD: Final = FailedRequest(
    405,
    ErrorReport(
        code="unknown_method",
        message="the path does not take this method",
        fix="GET /v1/openapi.json lists the operations.",
    ),
)
UNREADABLE_BODY: Final = FailedRequest(
    400,
    ErrorReport(
        code="unreadable_body",
        message="the body is not JSON",
        fix="Send one JSON object, with `Content-Type: application/json`.",
    ),
)


def unknown_run(id: str) -> Rejection:
    """Return the error for a run that does not exist, or that the identity may not know of."""
    return Rejection(
        404,
        "unknown_run",
        f"there is no run {shortened_text(id, 100)!r} for you on this server",
        "GET /v1/runs lists the runs that you may see.",
    )


ANOTHER_ID = "Use another id, or leave `id` out."


def failed_request(error: CommandError | InvalidDocument) -> FailedRequest:
    """Return status and report of an expected error."""
    match error:
        case Rejection():
            return _error_report(error.status, error.code, error, error.fix)
        case InvalidDocument():
            problem = error.problems[0]
            where = f"{problem.file}:{problem.line}:{problem.column}: "
            return _error_report(422, problem.code, f"{where}{problem.message}", problem.fix)
        case UnknownRun():  # word for word as for a run that is hidden
            return failed_request(unknown_run(error.run))
        case QueryRefused():
            return _error_report(404, "unknown_part", error, "")
        case NoWorker():
            fix = "Start `coterie worker` in the project, then repeat the request."
            return _error_report(503, "no_worker", error, fix)
        case Unanswered():
            return _error_report(503, "unanswered", error, "Repeat the request in a few seconds.")
        case IdTaken():
            return _error_report(409, "id_taken", error, ANOTHER_ID)
        case MessageRefusedError():
            return _error_report(409, "message_refused", error, "")
        case _ if error.exit_code == ExitCode.RUN_FAILED:
            fix = "Look at the run again, and act on its present state."
            return _error_report(409, "refused", error, fix)
        case _:
            return _error_report(422, "invalid", error, "")


def invalid_input(problems: Sequence[ErrorDetails], allowed: str) -> FailedRequest:
    """Return the error for an input that does not fit its model.

    Args:
        problems: As pydantic reports them.
        allowed: The fields of the input.
    """
    parts = [f"{_where(problem)}: {problem['msg']}" for problem in problems[:_MAX_PROBLEMS]]
    if len(problems) > _MAX_PROBLEMS:
        parts.append(f"and {len(problems) - _MAX_PROBLEMS} more")
    return _error_report(
        422, "invalid", "; ".join(parts), f"Allowed are: {allowed}." if allowed else ""
    )


def problems_of(error: ValidationError) -> Sequence[ErrorDetails]:
    """Return the problems of an input, without the input itself."""
    return error.errors(include_url=False, include_input=False, include_context=False)


def _where(problem: ErrorDetails) -> str:
    path = [str(part) for part in problem["loc"] if part not in ("body", "query", "path")]
    return ".".join(path) or "the input"


def _error_report(status: int, code: str, message: object, fix: str) -> FailedRequest:
    text = shortened_text(visible(str(message)), _MAX_MESSAGE_LENGTH)
    return FailedRequest(status, ErrorReport(code=code, message=text, fix=visible(fix)))
