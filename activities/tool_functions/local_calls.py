"""Calls that are local activities: which may be, and how large their answers are."""

from temporalio import activity
from temporalio.exceptions import ApplicationError, ApplicationErrorCategory

from coterie.activities.contracts import FailureType
from coterie.activities.tool_functions.function_registry import AnyFunction
from coterie.activities.tool_functions.functions.python_functions import PythonFunction
from coterie.activities.tool_functions.server_functions import ServerFunction
from coterie.dsl.visible import shortened_text

MAX_LOCAL_RESULT = 64_000
"""Bytes of JSON that a local activity returns."""

_MAX_ERROR_LENGTH = 4_000
"""Characters of its failure."""


def is_local_activity() -> bool:
    """Return whether this code runs in a local activity."""
    return activity.in_activity() and activity.info().is_local


def require_local(function: AnyFunction | ServerFunction) -> None:
    """Refuse what cannot run within a workflow task.

    Raises:
        ApplicationError: NotLocal: the run makes the call as an activity instead, because the
            process of the code must start first, or this worker's contract has an effect.
    """
    unready = isinstance(function, PythonFunction) and not function.is_ready
    if unready or function.effect != "read":
        raise ApplicationError(
            f"{function.name} does not run as a local activity here",
            type=FailureType.NOT_LOCAL,
            non_retryable=True,
            category=ApplicationErrorCategory.BENIGN,
        )


def check_local_size(function: str, size: int) -> None:
    """Refuse a result that does not fit.

    Args:
        function: Its name.
        size: Bytes of JSON.

    Raises:
        ApplicationError: It is too large.
    """
    if size > MAX_LOCAL_RESULT:
        raise ApplicationError(
            f"the result of {function} has {size} bytes; a local activity returns at most "
            f"{MAX_LOCAL_RESULT}. Narrow the input, or write `local_activity: false`",
            type=FailureType.FUNCTION_FAILED,
            non_retryable=True,
        )


def shortened(error: ApplicationError) -> ApplicationError:
    """Return the failure, with a message that fits."""
    if len(error.message) <= _MAX_ERROR_LENGTH:
        return error
    return ApplicationError(
        shortened_text(error.message, _MAX_ERROR_LENGTH),
        *error.details,
        type=error.type,
        non_retryable=error.non_retryable,
        category=error.category,
    )
