"""Steer a run from the screen: the same calls as `coterie approve`, `pause`, `skip` and the others.

Each call returns the sentence that the screen shows, also when the run refuses it.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from pydantic import JsonValue

from coterie.control.run_signals import send_cancel, send_control
from coterie.dsl.person_names import is_among
from coterie.failures import CommandError
from coterie.rendering.request_text import decision_text
from coterie.runs.call_errors import Unanswered
from coterie.runs.run_client import Run
from coterie.workflows.core.messages import DecideInput, RetryInput, SkipInput
from coterie.workflows.core.requests import Decision, Pending
from coterie.workflows.core.state_keys import StepKey

AUTO_COMMENT = "approved by auto"
"""The reason in the trail of an approval that nobody looked at."""


@dataclass(frozen=True, slots=True)
class PersonsAnswer:
    """What a person says to a request."""

    by: str
    comment: str = ""


@dataclass(frozen=True, slots=True)
class EditedPayload:
    """A value that replaces the one shown; null is a value too."""

    value: JsonValue


class Steering:
    """One person's hands on one run."""

    def __init__(self, run: Run, by: str, say: Callable[[str], None]) -> None:
        """Prepare to steer.

        Args:
            run: The run.
            by: Name of the person.
            say: Shows what `consider` did.
        """
        self._run = run
        self._say = say
        self.by = by
        self.auto = False
        """Whether every request for an approval is approved at once."""
        self._approved: set[tuple[str, str]] = set()
        """`(request, digest)` that `auto` has answered."""

    async def whole(self, request: Pending) -> Pending:
        """Return the request in full.

        Raises:
            CommandError: The run does not answer.
        """
        if not request.cut:
            return request
        return (await self._run.request(request.id)).pending or request

    async def decide(
        self,
        request: Pending,
        decision: Literal["approve", "reject"],
        answered: PersonsAnswer,
        payload: EditedPayload | None = None,
    ) -> str:
        """Approve or reject exactly what was shown."""
        decide_input = _decision(request, decision, answered)
        if payload is not None:
            decide_input = decide_input.model_copy(update={"payload": payload.value})
        return await _decision_text(request.id, self._run.decide(decide_input))

    async def retry(self, request: Pending, answered: PersonsAnswer) -> str:
        """Try a failed task again."""
        retry_input = RetryInput(task=request.id, by=answered.by, why=answered.comment)
        return await _decision_text(request.id, self._run.retry(retry_input))

    async def skip(self, step: str, answered: PersonsAnswer) -> str:
        """Skip a step, now or when it starts."""
        skip_input = SkipInput(task=step, by=answered.by, why=answered.comment)
        return await _decision_text(step, self._run.skip(skip_input))

    async def pause(self, what: Literal["pause", "resume"], answered: PersonsAnswer) -> str:
        """Pause or resume the run."""
        try:
            await send_control(self._run, what, answered.by, answered.comment)
        except CommandError as error:
            return f"{what}: {error}"
        return f"{what} requested by {answered.by}"

    async def stop(self, answered: PersonsAnswer) -> str:
        """Cancel the run; it cleans up first."""
        try:
            await send_cancel(self._run, answered.by, answered.comment)
        except CommandError as error:
            return f"stop: {error}"
        return f"cancelled by {answered.by}; the run cleans up"

    async def consider(self, pending: Sequence[Pending]) -> None:
        """Approve what waits, if `auto` is on; a failed task and a question stay for the person."""
        for request in pending if self.auto else ():
            key = (request.id, request.digest)
            if key in self._approved or not can_approve_unseen(request):
                continue
            if is_among(self.by, request.approved_by):
                continue
            self._approved.add(key)
            decide_input = _decision(request, "approve", PersonsAnswer(self.by, AUTO_COMMENT))
            try:
                self._say(decision_text(await self._run.decide(decide_input)))
            except Unanswered:
                self._approved.discard(key)  # the next look tries again
            except CommandError as error:
                self._say(f"{request.id}: {error}")


def can_approve_unseen(request: Pending) -> bool:
    """Return whether an approval is the answer: it is none to a question or to a failure."""
    return not request.choices and not StepKey.of_request(request.id).asks_for_input


def _decision(
    request: Pending, decision: Literal["approve", "reject"], answer: PersonsAnswer
) -> DecideInput:
    """Return a decision about what the request shows now, and about nothing else."""
    return DecideInput(
        id=request.id,
        decision=decision,
        by=answer.by,
        comment=answer.comment,
        digest=request.digest or None,
    )


async def _decision_text(what: str, update: Awaitable[Decision]) -> str:
    try:
        return decision_text(await update)
    except CommandError as error:
        return f"{what}: {error}"
