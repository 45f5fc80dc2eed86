"""Read the text of turns in progress: from the description of a run, at no cost to its history."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from pydantic import ValidationError
from temporalio.api.workflow.v1 import PendingActivityInfo
from temporalio.client import WorkflowExecutionDescription

from coterie.activities.contracts import RUN_AGENT, LiveTail
from coterie.activities.contracts.call_suffixes import step_of_id

POLL_SECONDS = 0.12
"""Between two descriptions of a run that streams; text is visible within half a second."""


@dataclass(frozen=True, slots=True)
class LiveAnswer:
    """An answer that a model is writing."""

    call: str
    """Its id."""
    step: str
    """`team/path`."""
    tail: LiveTail


@dataclass(frozen=True, slots=True)
class TextPiece:
    """What was written since the last look."""

    answer: LiveAnswer
    text: str
    missed: int = 0
    """Characters before it that nobody saw: more than a tail was written between two looks."""
    begins: bool = False
    """The first piece of this attempt: the text starts again."""


class TextFollower:
    """Turns tails into pieces, so that each character is shown once."""

    def __init__(self) -> None:
        self._seen: dict[str, tuple[int, int]] = {}
        """`{call: (attempt, characters seen)}`."""

    def pieces(self, answers: Iterable[LiveAnswer]) -> list[TextPiece]:
        """Return the new text of each call."""
        pieces: list[TextPiece] = []
        for answer in answers:
            tail = answer.tail
            attempt, last_end = self._seen.get(answer.call, (0, 0))
            begins = attempt != tail.attempt
            last_end = 0 if begins else last_end
            end = tail.start + len(tail.text)
            if end <= last_end:
                continue
            self._seen[answer.call] = (tail.attempt, end)
            missed_count = max(0, tail.start - last_end)
            text = tail.text[max(0, last_end - tail.start) :]
            pieces.append(TextPiece(answer, text, missed_count, begins))
        return pieces


def streams(described: WorkflowExecutionDescription) -> bool:
    """Return whether a model is writing an answer that can be watched."""
    return any(map(_is_stream, described.raw_description.pending_activities))


async def live_answers(
    described: WorkflowExecutionDescription, steps: Mapping[str, str]
) -> tuple[LiveAnswer, ...]:
    """Return the answers in progress, in the order of their calls.

    Args:
        described: The run.
        steps: `{id of an activity: its step}`, as the run reports them.
    """
    converter = described.data_converter
    answers: list[LiveAnswer] = []
    for activity in described.raw_description.pending_activities:
        if _is_stream(activity):
            details = await converter.decode(activity.heartbeat_details.payloads)
            try:
                tail = LiveTail.model_validate(details[1])
            except ValidationError:
                continue  # from another version of the worker
            answers.append(
                LiveAnswer(activity.activity_id, step_of_id(activity.activity_id, steps), tail)
            )
    return tuple(sorted(answers, key=lambda answer: answer.call))


def _is_stream(activity: PendingActivityInfo) -> bool:
    return activity.activity_type.name == RUN_AGENT and len(activity.heartbeat_details.payloads) > 1
