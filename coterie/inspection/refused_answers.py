"""Refused answers: those of models that did not match, why, and whether the model was asked again.

The trail names no turn of an agent without tools, so they come from the history.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from coterie.activities.contracts import AgentRequest, AgentResponse, FailureType
from coterie.runs.histories.recorded_calls import RecordedCall


@dataclass(frozen=True, slots=True)
class RefusedAnswer:
    """An answer that did not match what the agent must return."""

    step: str
    """`team/path`."""
    visit: int
    at: datetime
    type: str
    """Of the failure."""
    problem: str
    answer: str
    """As the model gave it; empty where the conversation has it."""
    reask: int | None
    """The number of the re-ask that followed; None if the model was not asked again."""


def refused_answers(calls: Sequence[RecordedCall]) -> Iterator[RefusedAnswer]:
    """Yield the refused answers among the calls of a run, in their order."""
    for number, call in enumerate(calls):
        answer = call.answer
        if not isinstance(answer, AgentResponse) or answer.error is None or call.ended is None:
            continue
        if answer.error.type != FailureType.ANSWER_UNUSABLE:
            continue
        yield RefusedAnswer(
            call.path,
            call.visit,
            call.ended,
            answer.error.type,
            answer.error.message,
            answer.answer or "",
            _reask_after(call, calls[number + 1 :]),
        )


def _reask_after(call: RecordedCall, later: Sequence[RecordedCall]) -> int | None:
    """Return the number of the re-ask with which the agent's next turn began."""
    for one in later:
        if one.path == call.path and isinstance(one.request, AgentRequest):
            return None if one.request.reask is None else one.request.reask.number
    return None
