"""Failures of tool functions: refused, with how a value violates its contract, or failed."""

from typing import Literal

from pydantic import ValidationError

from coterie.activities.contracts import FailureType
from coterie.dsl.model.tools.asked_input import AskedInput

Happened = Literal["no", "unknown", "yes"]
"""Whether the effect of a call has happened."""


class FunctionRefusal(Exception):
    """The call is forbidden or invalid; the same call is always refused, and nothing happens.

    The message is one sentence for people: what is wrong, what is allowed.

    Attributes:
        type: Of the failure.
        asked: What a person must answer before the same call is not refused.
    """

    def __init__(
        self,
        message: str,
        type: str = FailureType.FUNCTION_REFUSED,
        asked: AskedInput | None = None,
    ) -> None:
        self.type = type
        self.asked = asked
        super().__init__(message)


class FunctionFailure(Exception):
    """The tool function failed.

    Attributes:
        may_pass: The same call may succeed later, so a retry is worthwhile.
        happened: Whether its effect has happened, if the tool function knows: `no` before it began,
            or when the tool itself says so; `yes` when only the result is unusable. None: the
            effect may have happened if it has begun.
        said: The unusable result as text.
    """

    def __init__(
        self,
        message: str,
        *,
        may_pass: bool = False,
        happened: Happened | None = None,
        said: str = "",
    ) -> None:
        self.may_pass = may_pass
        self.happened: Happened | None = happened
        self.said = said
        super().__init__(message)


def validation_problems(error: ValidationError) -> str:
    """List the errors of a value with their places; never the value itself, which may be huge."""
    problems: list[str] = []
    for detail in error.errors():
        what = detail["msg"]
        place = ".".join(str(part) for part in detail["loc"])
        problems.append(f"{place}: {what}" if place else what)
    text = "; ".join(problems[:5])
    return text if len(problems) <= 5 else f"{text}; and {len(problems) - 5} more"
