"""What an HTTP API answered, and what that says of the call."""

from collections.abc import Mapping
from typing import NamedTuple

from coterie.activities.workspace.call_effects import shown
from coterie.activities.workspace.function_failures import FunctionFailure, FunctionRefusal


class ApiAnswer(NamedTuple):
    """An answer, read whole."""

    status: int
    type: str
    """Its media type, without parameters."""
    text: str
    """Empty for an answer without a body."""
    headers: Mapping[str, str]
    """Those that describe what was asked for, by names in lower case."""

    @property
    def is_json(self) -> bool:
        """Whether its type says that it is JSON."""
        return self.type == "application/json" or self.type.endswith("+json")


_PASSING = (408, 425, 429)
"""Statuses of a refused request that may succeed later."""
_NOT_BEGUN = (425, 429)


def check_status(name: str, answer: ApiAnswer) -> None:
    """Refuse an answer of a call that did not succeed.

    Args:
        name: Of the operation, for people.
        answer: As it came.

    Raises:
        FunctionRefusal: The API refuses the call: the same one is always refused.
        FunctionFailure: It failed, or may succeed later.
    """
    status = answer.status
    if 200 <= status < 300:
        return
    said = f"{name} answered with status {status}"
    if 300 <= status < 400:
        raise FunctionFailure(f"{said}, and no call follows a redirect")
    if answer.text:
        said = f"{said}: {shown(answer.text)}"
    if status >= 500 or status in _PASSING:
        happened = "no" if status in _NOT_BEGUN else None
        raise FunctionFailure(said, may_pass=True, happened=happened)
    raise FunctionRefusal(said)
