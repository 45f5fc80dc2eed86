"""Failures of skills: refused, failed, or with an unknown outcome."""

from activities.contracts import FailureType
from dsl.model.tools.asked_input import AskedInput


class SkillRefusal(Exception):
    """The call is forbidden or invalid; the same call is always refused.

    The message is one sentence for people: what is wrong, what is allowed.

    Attributes:
        type: Of the failure.
        asked: What a person must answer before the same call is not refused.
    """

    def __init__(
        self,
        message: str,
        type: str = FailureType.SKILL_REFUSED,
        asked: AskedInput | None = None,
    ) -> None:
        self.type = type
        self.asked = asked
        super().__init__(message)


class OutcomeLost(Exception):
    """A `once` skill started, and whether it finished is unknown."""


class SkillFailure(Exception):
    """The skill ran and failed.

    Attributes:
        may_pass: The same call may succeed later, so a retry is worthwhile.
    """

    def __init__(self, message: str, *, may_pass: bool = False) -> None:
        self.may_pass = may_pass
        super().__init__(message)
