"""What one stream has sent of a task, and what it lacks: outputs in chunks, then states."""

from collections.abc import Iterator, Sequence

from a2a.types import TaskArtifactUpdateEvent, TaskStatus, TaskStatusUpdateEvent

from coterie.gateway.doors.a2a.run_readings import StepOutput
from coterie.gateway.doors.a2a.task_messages import (
    artifact_message,
    status_event,
    status_message,
    text_of_output,
)
from coterie.gateway.doors.a2a.task_views import TaskView
from coterie.runs.live_texts import LiveAnswer


class StreamProgress:
    """What one stream has sent of a task."""

    def __init__(self) -> None:
        self._task, self._context = "", ""
        self._outputs = 0
        self._resets = 0
        self._status = TaskStatus()
        self._texts: dict[str, tuple[int, str]] = {}
        """`{call: (attempt, its text so far)}` of outputs that models are writing."""

    def note(self, view: TaskView) -> None:
        """Note a task that is sent as a whole."""
        self._task, self._context = view.id, view.context
        self._outputs = view.reading.left_out + len(view.reading.outputs)
        self._resets = view.reading.resets
        self._status = status_message(view)

    def is_void(self, view: TaskView) -> bool:
        """Return whether what was sent no longer counts, since the run was reset."""
        return view.reading.resets != self._resets

    def events(self, view: TaskView) -> Iterator[TaskArtifactUpdateEvent | TaskStatusUpdateEvent]:
        """Yield what is new: outputs first, so that they stand before the end."""
        reading = view.reading
        outputs = reading.outputs[max(0, self._outputs - reading.left_out) :]
        for output in (*outputs, *view.result):
            yield self._last_chunk(output)
        status = status_message(view)
        if (status.state, status.message) != (self._status.state, self._status.message):
            yield status_event(view)
        self.note(view)

    def chunks(self, answers: Sequence[LiveAnswer]) -> Iterator[TaskArtifactUpdateEvent]:
        """Yield what models have written since the last time.

        The text of another attempt replaces what an attempt before has written. A client that comes
        late gets a text when it is whole, if its beginning is not there any more.
        """
        for answer in answers:
            tail = answer.tail
            attempt, sent = self._texts.get(answer.call, (0, ""))
            if attempt != tail.attempt:
                sent = ""
            if tail.start > len(sent) or len(sent) >= tail.start + len(tail.text):
                continue
            piece = tail.text[len(sent) - tail.start :]
            self._texts[answer.call] = (tail.attempt, sent + piece)
            output = StepOutput(answer.call, answer.step, 0, piece)
            yield self._chunk(output, append=bool(sent), is_last=False)

    def _last_chunk(self, output: StepOutput) -> TaskArtifactUpdateEvent:
        """Return the rest of an output; all of it if nothing counts that was sent of it."""
        _, sent = self._texts.pop(output.id, (0, ""))
        text = text_of_output(output)
        if not sent or text is None or not text.startswith(sent):
            return self._chunk(output, append=False, is_last=True)
        rest = StepOutput(output.id, output.step, output.visit, text[len(sent) :])
        return self._chunk(rest, append=True, is_last=True)

    def _chunk(self, output: StepOutput, *, append: bool, is_last: bool) -> TaskArtifactUpdateEvent:
        artifact = artifact_message(output)
        if not output.visit:
            artifact.ClearField("metadata")  # not known before it is recorded
        return TaskArtifactUpdateEvent(
            task_id=self._task,
            context_id=self._context,
            artifact=artifact,
            append=append,
            last_chunk=is_last,
        )
