"""The rules of a skill that runs as a local activity: short, small, and without an effect.

Its result stands in the completion of a workflow task, beside others, and Temporal limits that to
4 MiB; a larger completion fails again and again. So a local activity returns little.
"""

from temporalio import activity
from temporalio.exceptions import ApplicationError, ApplicationErrorCategory

from coterie.activities.contracts import FailureType
from coterie.activities.skills.functions.function_skills import FunctionSkill
from coterie.activities.skills.functions.mcp_skill import McpSkill
from coterie.activities.skills.skill_registry import AnySkill
from coterie.dsl.visible import shortened_text

MAX_LOCAL_RESULT = 64_000
"""Bytes of JSON that a local activity returns."""

_MAX_ERROR_LENGTH = 4_000
"""Characters of its failure."""


def is_local_activity() -> bool:
    """Return whether this code runs in a local activity."""
    return activity.in_activity() and activity.info().is_local


def require_local(skill: AnySkill | McpSkill) -> None:
    """Refuse what cannot run within a workflow task.

    Raises:
        ApplicationError: NotLocal: the run makes the call as an activity instead, because the
            process of the code must start first, or this worker's contract has an effect.
    """
    unready = isinstance(skill, FunctionSkill) and not skill.is_ready
    if unready or skill.effect != "read":
        raise ApplicationError(
            f"{skill.name} does not run as a local activity here",
            type=FailureType.NOT_LOCAL,
            non_retryable=True,
            category=ApplicationErrorCategory.BENIGN,
        )


def check_local_size(skill: str, size: int) -> None:
    """Refuse a result that does not fit.

    Args:
        skill: Its name.
        size: Bytes of JSON.

    Raises:
        ApplicationError: It is too large.
    """
    if size > MAX_LOCAL_RESULT:
        raise ApplicationError(
            f"the result of {skill} has {size} bytes; a local activity returns at most "
            f"{MAX_LOCAL_RESULT}. Narrow the input, or write `local_activity: false`",
            type=FailureType.SKILL_FAILED,
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
