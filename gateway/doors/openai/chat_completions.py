"""Answers in the form of `chat.completion`, whole and in chunks. Pure."""

from collections.abc import Iterator
from dataclasses import dataclass

from coterie.activities.contracts import TokenUsage
from coterie.dsl.values import Json
from coterie.gateway.doors.openai.openai_errors import error_object
from coterie.gateway.doors.openai.server_events import data_event, pieces_of
from coterie.gateway.doors.openai.team_answers import TeamAnswer
from coterie.gateway.operations.error_reports import FailedRequest, Rejection
from coterie.gateway.operations.expected_errors import failed_work

_DONE = b"data: [DONE]\n\n"
ANSWER_CHANGED = Rejection(
    409,
    "answer_changed",
    "the text that has come does not count: the team has another answer",
    "Send the same request again: it is not worked on twice, and gets the answer.",
)


@dataclass(frozen=True, slots=True)
class ChatCompletion:
    """One answer to a client of `chat/completions`."""

    message: str
    """The id of the message that it answers."""
    model: str
    created: int
    with_usage: bool = False
    """Whether a stream ends with the usage."""

    def whole(self, answer: TeamAnswer) -> Json:
        """Return the answer as one object."""
        said: Json = {"role": "assistant", "content": answer.text, "refusal": None}
        choice: Json = {"index": 0, "message": said, "finish_reason": "stop", "logprobs": None}
        head = self._head("chat.completion")
        return {**head, "choices": [choice], "usage": _usage(answer.usage)}

    def opening(self) -> Iterator[bytes]:
        """Yield the chunk that says who speaks."""
        yield self._chunk({"role": "assistant", "content": ""})

    def piece(self, text: str) -> Iterator[bytes]:
        """Yield the chunks of a piece of the text."""
        for piece in pieces_of(text):
            yield self._chunk({"content": piece})

    def closing(self, answer: TeamAnswer, sent: str) -> Iterator[bytes]:
        """Yield the chunks of the answer, after the text that was sent.

        A text cannot be taken back here: if it is another one, the stream ends with an error.
        """
        if not answer.text.startswith(sent):
            yield from self.failing(failed_work(ANSWER_CHANGED))
            return
        yield from self.piece(answer.text[len(sent) :])
        yield self._chunk({}, "stop")
        if self.with_usage:
            head = self._head("chat.completion.chunk")
            yield data_event({**head, "choices": [], "usage": _usage(answer.usage)})
        yield _DONE

    def failing(self, failed: FailedRequest) -> Iterator[bytes]:
        """Yield the error, with which a stream ends."""
        yield data_event({"error": error_object(failed)})

    def _chunk(self, delta: Json, finish: str | None = None) -> bytes:
        choice: Json = {"index": 0, "delta": delta, "finish_reason": finish, "logprobs": None}
        return data_event({**self._head("chat.completion.chunk"), "choices": [choice]})

    def _head(self, kind: str) -> Json:
        return {
            "id": f"chatcmpl-{self.message}",
            "object": kind,
            "created": self.created,
            "model": self.model,
        }


def _usage(usage: TokenUsage) -> Json:
    return {
        "prompt_tokens": usage.input_tokens,
        "completion_tokens": usage.output_tokens,
        "total_tokens": usage.total,
        "prompt_tokens_details": {"cached_tokens": usage.cached_tokens},
    }
