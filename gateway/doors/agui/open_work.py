"""The work of a run in progress: its calls, the steps that they belong to, and subagents."""

from collections.abc import Iterator
from dataclasses import dataclass

from ag_ui.core import (
    BaseEvent,
    StepFinishedEvent,
    StepStartedEvent,
    SubagentFinishedEvent,
    SubagentStartedEvent,
)
from ag_ui.core.events import SubagentFinishedSuccessOutcome, SubagentFinishedSuspendedOutcome

from coterie.gateway.streams.run_events import CallKind


@dataclass(slots=True)
class UnfinishedCall:
    """A call that has not ended."""

    call: str
    kind: CallKind
    step: str
    """`team/path`."""
    run_id: str
    """Of the history that has it."""
    is_said: bool = False
    """Whether it is a model turn whose answer people read."""
    attempt: int = 1
    tool: str = ""
    """The id of the tool call that it is for the client; empty: it is none."""
    subagent: str | None = None

    def message(self, attempt: int) -> str:
        """Return the id of the message that an attempt writes."""
        return f"{self.run_id[:13]}/{self.call}/{attempt}"


@dataclass(slots=True)
class Subagent:
    """An agent or a team that an agent has called, and that has begun."""

    id: str
    name: str
    path: str
    """`work/act/helper@1.3`."""
    caller: str
    """The path of the agent that called it."""
    parent: str | None
    """The id of the subagent that called it."""
    tool: str
    """The id of the call in the turn of the caller; empty if it is not known."""

    def started(self) -> BaseEvent:
        """Return the event that it has begun."""
        fields = {"subagent_run_id": self.id, "name": self.name}
        if self.parent is not None:
            fields["parent_subagent_run_id"] = self.parent
        if self.tool:
            fields["parent_tool_call_id"] = self.tool
        return SubagentStartedEvent.model_validate(fields)


class OpenWork:
    """Calls, steps and subagents that have begun and not ended."""

    def __init__(self) -> None:
        self.calls: dict[int, UnfinishedCall] = {}
        """By the events that scheduled them."""
        self._subagents: dict[str, Subagent] = {}
        """By their paths."""
        self._steps: dict[tuple[str | None, str], int] = {}
        """`{(subagent, step): calls in progress}`."""

    def call(self, id: str) -> UnfinishedCall | None:
        """Return the call in progress with an id."""
        return next((call for call in self.calls.values() if call.call == id), None)

    def subagent_of(self, step: str) -> str | None:
        """Return the subagent to which a step belongs; None for the team itself."""
        own = [path for path in self._subagents if _is_within(step, path)]
        return self._subagents[max(own, key=len)].id if own else None

    def begin_subagents(
        self, step: str, id: str, tools: dict[str, list[str]]
    ) -> Iterator[BaseEvent]:
        """Yield the beginnings of the subagents in which a model turn is the first one.

        Args:
            step: The path of the turn.
            id: What makes their ids unique in the run.
            tools: `{path of an agent: the ids of the calls of its latest turn}`.
        """
        parts = step.split("/")
        for length, part in enumerate(parts, 1):
            path, (name, mark, number) = "/".join(parts[:length]), part.rpartition("@")
            if not mark or path in self._subagents:
                continue
            caller = "/".join(parts[: length - 1])
            ids, place = tools.get(caller, []), number.partition(".")[2]
            index = int(place) - 1 if place.isdecimal() else -1
            tool = ids[index] if 0 <= index < len(ids) else ""
            parent = self.subagent_of(caller)
            made = Subagent(f"{id}/{length}", name, path, caller, parent, tool)
            self._subagents[path] = made
            yield made.started()

    def end_subagents(self, caller: str) -> Iterator[BaseEvent]:
        """Yield the ends of the subagents of an agent, which has their results."""
        for path, one in reversed(list(self._subagents.items())):
            if one.caller == caller or _is_within(one.caller, caller):
                del self._subagents[path]
                yield _finished_event(one)

    def begin(self, event: int, call: UnfinishedCall) -> Iterator[BaseEvent]:
        """Note a call; yield that its step begins, unless another call of it is in progress."""
        call.subagent = self.subagent_of(call.step)
        self.calls[event] = call
        key = (call.subagent, call.step)
        self._steps[key] = self._steps.get(key, 0) + 1
        if self._steps[key] == 1:
            yield _step_started(key)

    def end(self, event: int) -> Iterator[BaseEvent]:
        """Forget a call; yield that its step ends, if it was its last one."""
        call = self.calls.pop(event)
        key = (call.subagent, call.step)
        self._steps[key] -= 1
        if not self._steps[key]:
            del self._steps[key]
            yield _step_finished(key)

    def opened(self) -> Iterator[BaseEvent]:
        """Yield that all of it begins, for a client that knows of none."""
        yield from (one.started() for one in self._subagents.values())
        yield from map(_step_started, self._steps)

    def close(self) -> Iterator[BaseEvent]:
        """Yield that the subagents end, and forget them; no call is in progress."""
        yield from map(_finished_event, reversed(self._subagents.values()))
        self._subagents.clear()

    def suspend(self) -> Iterator[BaseEvent]:
        """Yield that the subagents wait for people; no call is in progress."""
        outcome = SubagentFinishedSuspendedOutcome(type="suspended")
        for one in reversed(self._subagents.values()):
            yield SubagentFinishedEvent(subagent_run_id=one.id, outcome=outcome)


def _is_within(step: str, path: str) -> bool:
    return step == path or step.startswith(f"{path}/")


def _step_started(key: tuple[str | None, str]) -> BaseEvent:
    subagent, step = key
    if subagent is None:
        return StepStartedEvent(step_name=step)
    return StepStartedEvent(step_name=step, subagent_run_id=subagent)


def _step_finished(key: tuple[str | None, str]) -> BaseEvent:
    subagent, step = key
    if subagent is None:
        return StepFinishedEvent(step_name=step)
    return StepFinishedEvent(step_name=step, subagent_run_id=subagent)


def _finished_event(one: Subagent) -> BaseEvent:
    outcome = SubagentFinishedSuccessOutcome(type="success")
    return SubagentFinishedEvent(subagent_run_id=one.id, outcome=outcome)
