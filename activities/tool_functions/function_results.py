"""What a call of a tool function returns or fails with, as a run's history holds it."""

from collections.abc import Sequence
from pathlib import Path

from pydantic import JsonValue
from pydantic_core import to_json
from temporalio.exceptions import ApplicationError

from coterie.activities.contracts import FailureType
from coterie.activities.metering import Meter
from coterie.activities.os_errors import reason_of, shown_path
from coterie.activities.workspace.function_failures import FunctionFailure
from coterie.dsl.model.tools.asked_input import AskedInput
from coterie.dsl.values import Json

MAX_RESULT_SIZE = 1_500_000
"""Bytes of JSON; Temporal limits a payload to 2 MiB."""


def refusal_details(spent: Sequence[Json], asked: AskedInput | None) -> tuple[Json, ...]:
    """Return the details of a failure: the usage, then what a person must answer."""
    if asked is None:
        return tuple(spent)
    return (spent[0] if spent else {}, asked.model_dump(mode="json", exclude_defaults=True))


def asked_of(failure: ApplicationError) -> AskedInput | None:
    """Return what a failed call asks; the inverse of `refusal_details`."""
    if failure.type != FailureType.INPUT_REQUIRED or len(failure.details) < 2:
        return None
    return AskedInput.model_validate(failure.details[1])


def outcome_unknown(function: str, why: str, meter: Meter) -> ApplicationError:
    """Return the failure of a call that may happen only once, and may have happened."""
    return _never_again(f"the outcome of {function} is unknown: {why}", meter)


def result_unusable(function: str, why: str, said: str, meter: Meter) -> ApplicationError:
    """Return the failure of a call that may happen only once, and has: `said` is its result."""
    failure = f"{function} has happened, but its result cannot be used: {why}"
    return _never_again(failure, meter, f". Its result: {said}" if said else "")


def _never_again(failure: str, meter: Meter, detail: str = "") -> ApplicationError:
    return ApplicationError(
        f"{failure}; a call that may happen only once is not retried{detail}",
        *meter.details(),
        type=FailureType.OUTCOME_UNKNOWN,
        non_retryable=True,
    )


def encoded_result(function: str, data: JsonValue) -> bytes:
    """Return the result as JSON; refuse what a history cannot hold."""
    try:
        encoded = to_json(data)
    except ValueError as error:
        raise ApplicationError(
            f"the result of {function} contains a value that is not JSON: {error}",
            type=FailureType.FUNCTION_FAILED,
            non_retryable=True,
        ) from None
    size = len(encoded)
    if size > MAX_RESULT_SIZE:
        raise ApplicationError(
            f"the result of {function} has {size} bytes; at most {MAX_RESULT_SIZE} fit in a "
            "run's history. Narrow the input (fewer files, a smaller max_bytes)",
            type=FailureType.FUNCTION_FAILED,
            non_retryable=True,
        )
    return encoded


def reason_for(failure: Exception, root: Path) -> str:
    """Return why a call failed that works below a folder."""
    match failure:
        case FunctionFailure():
            return str(failure)
        case ApplicationError():
            return failure.message
        case OSError():
            return f"it {explain(failure, root)}"
        case _:
            return f"it failed with {type(failure).__name__}"


def explain(error: OSError, root: Path) -> str:
    """Return reason and path; for a file outside the folder, only its name."""
    path, why = error.filename, f"hit a system error: {reason_of(error)}"
    if not isinstance(path, str):
        return why
    return f"{why}: {shown_path(path, root)!r}"
