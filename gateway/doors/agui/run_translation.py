"""Translate the events of a run into those of AG-UI.

What an event gives depends on the events before it, and on the texts that the client has in part:
so a client that was cut off in the middle of it gets the rest.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from ag_ui.core import (
    BaseEvent,
    ToolCallArgsEvent,
    ToolCallEndEvent,
    ToolCallResultEvent,
    ToolCallStartEvent,
)
from pydantic import BaseModel, JsonValue

from coterie.activities.contracts import (
    CALL_FUNCTION,
    RUN_AGENT,
    AgentResponse,
    FunctionRequest,
    FunctionResult,
    function_step,
    named_turn,
    reasoning_text,
)
from coterie.dsl.tool_loop.exchange import ToolTurn
from coterie.gateway.doors.agui.agui_events import (
    bounded_json,
    bounded_text,
    json_text,
    reasoning_events,
    text_end,
    text_pieces,
    whole_text,
)
from coterie.gateway.doors.agui.history_feed import PlacedEvent
from coterie.gateway.doors.agui.open_work import OpenWork, UnfinishedCall
from coterie.gateway.doors.agui.run_messages import RunMessages, ShownCall, ShownMessage
from coterie.gateway.doors.agui.stream_positions import Position
from coterie.gateway.streams.cursors import Cursor
from coterie.runs.ends.end_facts import RunEnd
from coterie.runs.histories import recorded_events as recorded
from coterie.runs.histories.recorded_calls import local_call
from coterie.workflows.core.messages import SEND_MESSAGE
from coterie.workflows.core.requests import NOT_YET
from coterie.workflows.core.state_keys import StepKey


class _Turn(BaseModel):
    """What the request of a model turn says here."""

    task: str = ""
    tool_turn: ToolTurn | None = None


@dataclass(frozen=True, slots=True)
class MessageAnswered:
    """The session has answered the message of this client."""

    reply: JsonValue
    error: str = ""
    kind: Literal["answered"] = "answered"


@dataclass(frozen=True, slots=True)
class Ended:
    """The run has ended."""

    end: RunEnd
    kind: Literal["ended"] = "ended"


Ending = MessageAnswered | Ended


class RunTranslation:
    """Translates one run, from its first events on."""

    def __init__(self, messages: RunMessages, message: str | None, *, is_session: bool) -> None:
        """Begin.

        Args:
            messages: Where the messages of the run are kept.
            message: The id of the client's message to a session; None if it sends none.
            is_session: Whether the run ends, for the client, with a reply.
        """
        self.messages = messages
        self.work = OpenWork()
        self.ending: Ending | None = None
        """How it ended for the client; None while it continues."""
        self.is_taken = False
        """Whether the session has the message of this client."""
        self.is_read = False
        """Whether a client gets what comes: a reply to others before that ends nothing for it."""
        self._message = message
        self._is_session = is_session
        self._open_messages: list[str] = []
        self._tools: dict[str, list[str]] = {}
        """`{path of an agent: the ids of the calls of its latest turn}`."""

    @property
    def is_idle(self) -> bool:
        """Whether a session works on no message."""
        return self._is_session and not self._open_messages

    def tool_of(self, request: str) -> str:
        """Return the id of the tool call that a request is about; empty if it is none."""
        caller, _, called = StepKey.of_request(request).rpartition("/")
        place = called.rpartition("@")[2].partition(".")[2]
        ids = self._tools.get(caller, [])
        index = int(place) - 1 if place.isdecimal() else -1
        return ids[index] if 0 <= index < len(ids) else ""

    def events(self, placed: PlacedEvent, position: Position) -> Sequence[BaseEvent]:
        """Return what one event of the run gives, and note what it changes."""
        cursor, event = placed
        match event:
            case recorded.CallScheduled():
                return list(self._call_begins(cursor, event))
            case recorded.CallStarted() if event.scheduled in self.work.calls:
                self.work.calls[event.scheduled].attempt = event.attempt
                return ()
            case recorded.CallEnded() if event.scheduled in self.work.calls:
                return list(self._call_ended(cursor, event, position))
            case recorded.MarkerRecorded():
                return list(self._local(cursor, event))
            case recorded.UpdateAccepted() | recorded.UpdateCompleted() if self._is_session:
                return list(self._session(cursor, event, position))
            case recorded.TaskFailure() if event.reset:
                return list(self._reset(event, position))
            case recorded.RunClosed() if not event.next:
                return list(self._run_ends(cursor, event, position))
            case recorded.RunClosed() | recorded.ContinuedAsNew():
                return list(self._leave_calls(position))
            case _:
                return ()

    def after(self, placed: PlacedEvent, position: Position) -> Position:
        """Return the position of a client that has all that an event gives."""
        in_progress = {call.call for call in self.work.calls.values()}
        texts = tuple(text for text in position.texts if text.call in in_progress)
        return replace(position, cursor=placed.cursor, passed=0, texts=texts)

    def _call_begins(self, cursor: Cursor, event: recorded.CallScheduled) -> Iterator[BaseEvent]:
        if event.activity == RUN_AGENT:
            asked = event.value.read_if(_Turn) or _Turn()
            step, suffix = named_turn(event.summary, asked.task)
            results = () if asked.tool_turn is None else asked.tool_turn.results
            yield from self.work.end_subagents(step)
            ids = self._tools.pop(step, []) if results else []
            for id, result in zip(ids, results, strict=False):
                text = result.text + (f"[stored as {result.kept[:12]}]" if result.kept else "")
                yield self._result(cursor, id, text, self.work.subagent_of(step))
            unique = f"{cursor.run[:13]}/{event.call}"
            yield from self.work.begin_subagents(step, unique, self._tools)
            call = UnfinishedCall(event.call, "turn", step, cursor.run, is_said=not suffix.compacts)
            yield from self.work.begin(event.id, call)
        elif event.activity == CALL_FUNCTION:
            asked_function = event.value.read_if(FunctionRequest)
            name = "" if asked_function is None else asked_function.skill
            step = function_step(event.summary, name)
            call = UnfinishedCall(event.call, "skill", step, cursor.run)
            yield from self.work.begin(event.id, call)
            if asked_function is not None and "@" not in step.rpartition("/")[2]:
                call.tool = call.message(0)
                arguments = bounded_json(asked_function.input)
                shown = ShownCall(call.tool, name, arguments)
                yield from self._calls(cursor, f"{call.tool}/asked", "", [shown], call.subagent)

    def _call_ended(
        self, cursor: Cursor, event: recorded.CallEnded, position: Position
    ) -> Iterator[BaseEvent]:
        call = self.work.calls[event.scheduled]
        if call.is_said:
            response = event.value.read_if(AgentResponse)
            is_answer = event.end == "completed" and response is not None
            yield from self._answer_events(cursor, call, response if is_answer else None, position)
        elif call.tool:
            result = event.value.read_if(FunctionResult)
            failed = "" if event.failure is None else event.failure.text
            yield self._result(cursor, call.tool, _function_text(result, failed), call.subagent)
        yield from self.work.end(event.scheduled)

    def _answer_events(
        self,
        cursor: Cursor,
        call: UnfinishedCall,
        response: AgentResponse | None,
        position: Position,
    ) -> Iterator[BaseEvent]:
        """Yield the rest of an answer, and the calls that it asks for."""
        text = "" if response is None else _answer_text(response)
        id, part = call.message(call.attempt), position.text(call.call)
        asked = () if response is None else response.tool_calls
        thought = "" if response is None else reasoning_text(response.reasoning)
        if thought:
            shown_thought = f"{id}/reasoning"
            self.messages.add(
                ShownMessage(shown_thought, cursor, thought, call.subagent, is_reasoning=True)
            )
            yield from reasoning_events(shown_thought, thought, call.subagent)
        if text or asked:
            self.messages.add(ShownMessage(id, cursor, text, call.subagent))
        if part is None and text:
            yield from whole_text(id, text, call.subagent)
        elif part is not None and text and _continues(part.attempt, call, part.begins(text)):
            if not part.has_ended:
                yield from text_pieces(id, text[part.sent :], call.subagent)
                yield text_end(id, call.subagent)
        elif part is not None:  # what the client has does not count
            if not part.has_ended:
                yield text_end(call.message(part.attempt), call.subagent)
            yield self.messages.snapshot()
        if asked:
            shown = [
                ShownCall(f"{id}/{place}", one.tool, bounded_json(one.arguments))
                for place, one in enumerate(asked, 1)
            ]
            self._tools[call.step] = [one.id for one in shown]
            yield from self._calls(cursor, id, id, shown, call.subagent)

    def _calls(
        self,
        cursor: Cursor,
        message: str,
        parent: str,
        calls: Sequence[ShownCall],
        subagent: str | None,
    ) -> Iterator[BaseEvent]:
        """Yield the calls of tools, and note them at their message."""
        self.messages.note_calls(message, cursor, calls, subagent)
        tag = {} if subagent is None else {"subagent_run_id": subagent}
        above = {"parent_message_id": parent or message}
        for call in calls:
            named = {"tool_call_id": call.id, "tool_call_name": call.name}
            yield ToolCallStartEvent.model_validate({**named, **above, **tag})
            arguments = {"tool_call_id": call.id, "delta": call.arguments}
            yield ToolCallArgsEvent.model_validate({**arguments, **tag})
            yield ToolCallEndEvent.model_validate({"tool_call_id": call.id, **tag})

    def _result(self, cursor: Cursor, id: str, text: str, subagent: str | None) -> BaseEvent:
        content, message = bounded_text(text), f"{id}/result"
        self.messages.add(ShownMessage(message, cursor, content, subagent, result_of=id))
        fields = {"message_id": message, "tool_call_id": id, "content": content, "role": "tool"}
        if subagent is not None:
            fields["subagent_run_id"] = subagent
        return ToolCallResultEvent.model_validate(fields)

    def _local(self, cursor: Cursor, event: recorded.MarkerRecorded) -> Iterator[BaseEvent]:
        """Yield a short call of a step, which one event records; those of agents are theirs."""
        found = local_call(event)
        if found is None or "@" in found[1].path.rpartition("/")[2]:
            return
        call = found[1]
        assert isinstance(call.request, FunctionRequest)
        id, subagent = f"{cursor.run[:13]}/{call.id}/0", self.work.subagent_of(call.path)
        shown = ShownCall(id, call.request.skill, bounded_json(call.request.input))
        yield from self._calls(cursor, f"{id}/asked", "", [shown], subagent)
        result = call.answer if isinstance(call.answer, FunctionResult) else None
        yield self._result(cursor, id, _function_text(result, call.error or ""), subagent)

    def _session(
        self,
        cursor: Cursor,
        event: recorded.UpdateAccepted | recorded.UpdateCompleted,
        position: Position,
    ) -> Iterator[BaseEvent]:
        if isinstance(event, recorded.UpdateAccepted):
            if event.name == SEND_MESSAGE:
                self._open_messages.append(event.update)
            if event.update == self._message and not self.is_taken:
                self.is_taken = True
                self.messages.begin()
            return
        if event.update not in self._open_messages:
            return
        wanted = self._message if self._message is not None else self._open_messages[0]
        self._open_messages.remove(event.update)
        failure = event.failure
        if event.update != wanted or (failure is not None and failure.type == NOT_YET):
            return  # of another message, or the next history has it
        if self._message is None and not self.is_read:
            return
        reply = None if event.value is None else event.value.json
        self.ending = MessageAnswered(reply, "" if failure is None else failure.text)
        if isinstance(reply, str) and reply and reply != self.messages.last_text:
            yield from self._last_words(cursor, f"reply/{event.accepted}", reply)
        yield from self._close(position)

    def _run_ends(
        self, cursor: Cursor, event: recorded.RunClosed, position: Position
    ) -> Iterator[BaseEvent]:
        end = event.end
        self.ending = Ended(end)
        output = None if end.result is None else end.result.output
        if isinstance(output, str) and output and output != self.messages.last_text:
            yield from self._last_words(cursor, "result", output)
        yield from self._close(position)

    def _last_words(self, cursor: Cursor, name: str, text: str) -> Iterator[BaseEvent]:
        id = f"{cursor.run[:13]}/{name}"
        self.messages.add(ShownMessage(id, cursor, text))
        yield from whole_text(id, text, None)

    def _reset(self, event: recorded.TaskFailure, position: Position) -> Iterator[BaseEvent]:
        """Yield that what was in progress does not count, and the messages that do."""
        yield from self._close(position)
        self.messages.reset(event.base, event.id - 1)
        yield self.messages.snapshot()

    def _close(self, position: Position) -> Iterator[BaseEvent]:
        yield from self._leave_calls(position)
        yield from self.work.close()
        self._tools.clear()

    def _leave_calls(self, position: Position) -> Iterator[BaseEvent]:
        """Yield the ends of calls that nobody waits for."""
        for event, call in list(self.work.calls.items()):
            part = position.text(call.call)
            if part is not None and not part.has_ended:
                yield text_end(call.message(part.attempt), call.subagent)
            yield from self.work.end(event)


def _continues(attempt: int, call: UnfinishedCall, begins: bool) -> bool:
    return begins and attempt == call.attempt


def _answer_text(response: AgentResponse) -> str:
    """Return what a model said: its text, or its data as JSON."""
    said = response.data if response.answer is None else response.answer
    match said:
        case None:
            return ""
        case str():
            return said
        case {"text": str(text), **rest} if not rest:
            return text
        case _:
            return json_text(said)


def _function_text(result: FunctionResult | None, failed: str) -> str:
    if failed or result is None:
        return failed
    if result.data is not None:
        return json_text(result.data)
    return result.text if result.kept is None else result.kept.preview
