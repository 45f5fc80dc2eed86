"""Decide whether the effect of a call has happened, for every kind of tool.

A call with the effect `once` is never repeated blindly. So whatever goes wrong with it, one
function says what is known: nothing happened, it happened, or nobody knows.
"""

from collections.abc import Awaitable, Callable

from pydantic import JsonValue
from pydantic_core import to_json
from temporalio.exceptions import ApplicationError

from coterie.activities.contracts import FailureType
from coterie.activities.workspace.function_failures import (
    FunctionFailure,
    FunctionRefusal,
    Happened,
)
from coterie.dsl.visible import shortened_text, visible

MAX_SAID = 2_000
"""Characters of an unusable result that its failure keeps."""


async def _nothing_to_confirm() -> None:
    """Confirm a call whose effect may happen again."""


class EffectProgress:
    """How far a call is: before its effect, in it, or after it.

    Attributes:
        began: Whether the effect may have begun.
        ended: Whether the call has succeeded.
    """

    def __init__(
        self, confirm: Callable[[], Awaitable[None]] = _nothing_to_confirm, *, began: bool = False
    ) -> None:
        """Take how far the call is.

        Args:
            confirm: Makes sure that the attempt still counts, and raises if it does not.
            began: An earlier activity has begun the effect.
        """
        self._confirm = confirm
        self.began = began
        self.ended = False
        self._returned: JsonValue = ""

    async def begin(self) -> None:
        """Confirm the attempt, immediately before the effect may begin.

        Raises:
            ApplicationError: StaleAttempt: nothing may begin any more.
        """
        await self._confirm()
        self.began = True

    def end(self, data: JsonValue) -> None:
        """Note that the call has succeeded, and what it returned."""
        self.ended = True
        self._returned = data

    @property
    def said(self) -> str:
        """What the call returned, for people and models."""
        return shown(self._returned)


def effect_after(failure: BaseException, progress: EffectProgress) -> Happened:
    """Return whether the effect of a call that failed so has happened."""
    if progress.ended:
        return "yes"
    match failure:
        case FunctionRefusal():
            return "no"
        case FunctionFailure(happened=stated) if stated is not None:
            return stated
        case ApplicationError(type=FailureType.STALE_ATTEMPT):
            return "no"
        case _:
            return "unknown" if progress.began else "no"


def shown(data: object) -> str:
    """Return what a tool said as text, with a mark where it is cut off."""
    text = visible(data if isinstance(data, str) else _as_text(data))
    return shortened_text(text, MAX_SAID)


def _as_text(data: object) -> str:
    try:
        return to_json(data, inf_nan_mode="strings").decode()
    except (ValueError, UnicodeError):
        return repr(data)
