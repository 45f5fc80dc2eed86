"""Whatever is asked of a run, a failure has one sentence, and the same one for every command."""

from typing import get_args

import pytest
from temporalio.client import WorkflowUpdateFailedError, WorkflowUpdateRPCTimeoutOrCancelledError
from temporalio.exceptions import ApplicationError
from temporalio.service import RPCError, RPCStatusCode

from coterie.failures import ExitCode
from coterie.runs.call_errors import Unanswered, UpdateName, call_error, update_error


def failed(status: RPCStatusCode, message: str = "") -> RPCError:
    return RPCError(message, status, b"")


NAMES: tuple[UpdateName, ...] = get_args(UpdateName)


@pytest.mark.parametrize("name", NAMES)
def test_a_refusal_has_the_words_of_the_run_and_fails_the_command(name: UpdateName) -> None:
    error = update_error("r1", name, WorkflowUpdateFailedError(ApplicationError("too late")))
    assert str(error).startswith("the run refuses this ")
    assert str(error).endswith(": too late")
    assert error.exit_code == ExitCode.RUN_FAILED


def test_an_update_that_nobody_answers_says_where_to_look() -> None:
    error = update_error("r1", "amend", WorkflowUpdateRPCTimeoutOrCancelledError())
    assert isinstance(error, Unanswered)
    assert "no worker answers for run 'r1'" in str(error)
    assert "coterie watch" in str(error)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    "said",
    ["workflow execution already completed", "workflow update was aborted by closing workflow"],
)
def test_a_run_that_has_ended_reads_the_same_for_every_request(name: UpdateName, said: str) -> None:
    ended = failed(RPCStatusCode.NOT_FOUND, said)
    message = update_error("r1", name, ended)
    assert str(message) == "run 'r1' has already ended; see `coterie result r1`"
    assert str(call_error("r1", ended)) == str(message)
    assert message.exit_code == ExitCode.RUN_FAILED


@pytest.mark.parametrize(
    ("status", "message", "kind", "words"),
    [
        ("NOT_FOUND", "", "UnknownRun", "there is no run 'r1'"),
        ("UNAUTHENTICATED", "no key", "CommandError", "the server rejects the request: no key"),
        (
            "FAILED_PRECONDITION",
            "in a failed state",
            "Unanswered",
            "crashes repeatedly on run 'r1'",
        ),
        ("FAILED_PRECONDITION", "is closed", "CommandError", "ended before a worker picked it up"),
        ("FAILED_PRECONDITION", "", "NoWorker", "no worker answers for run 'r1'"),
        ("RESOURCE_EXHAUSTED", "query buffer is full", "NoWorker", "no worker answers"),
        ("RESOURCE_EXHAUSTED", "rate", "Unanswered", "does not answer (rate)"),
        ("DEADLINE_EXCEEDED", "", "NoWorker", "no worker answers"),
        ("UNAVAILABLE", "refused", "Unanswered", "does not answer (refused)"),
    ],
)
def test_a_call_that_the_server_does_not_answer_says_what_to_do(
    status: str, message: str, kind: str, words: str
) -> None:
    error = call_error("r1", failed(RPCStatusCode[status], message))
    assert type(error).__name__ == kind
    assert words in str(error)
