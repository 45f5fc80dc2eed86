"""Progress: how far all composite steps of a run are, by kind and by location.

The state keeps it, so an interpreter that starts anew with the same state continues at the same
location (see docs/decisions/0007-frames-keep-every-position.md).

Calls take a conversation in the order in which they asked for it. A ticket is of one call, from its
request to its end, and stands in the order of the requests, which thus survives continue-as-new.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any

from pydantic import Field, JsonValue

from coterie.dsl.evaluate.context_writes import ContextWrite
from coterie.dsl.model.causes import HandedOff
from coterie.dsl.model.outcomes import Outcome
from coterie.workflows.core.progress.agent_progress import (
    AgentLoopProgress,
    CallInput,
    HookedCall,
    ParkedTurn,
    ProgramProgress,
    SaidMessage,
    SendingCall,
)
from coterie.workflows.core.progress.progress_kinds import (
    BranchProgress,
    ConcurrentLoopProgress,
    ContextDraft,
    LoopProgress,
    ParallelProgress,
    RepeatedCall,
    RetryProgress,
    SequenceProgress,
    TaskGraphProgress,
    TryProgress,
)


@dataclass(slots=True)
class ConversationTicket:
    """The place of one call in the queue of a conversation."""

    conversation: str
    is_back: Annotated[bool, Field(exclude=True)] = False
    """Whether its call waits or works in this history; one that has yet to come back does not."""


Tickets = Mapping[str, ConversationTicket]
"""`{location of a call: its ticket}`, in the order of the requests."""


def take_ticket(tickets: dict[str, ConversationTicket], conversation: str, key: str) -> None:
    """Put a call at the end of the queue, or where it stood before the run continued as new."""
    ticket = tickets.get(key)
    if ticket is None or ticket.conversation != conversation:
        tickets.pop(key, None)
        ticket = tickets[key] = ConversationTicket(conversation)
    ticket.is_back = True


def overtakes(tickets: Tickets, key: str) -> bool:
    """Return whether other calls asked for the conversation of a call before it."""
    own = tickets[key].conversation
    return next(at for at, ticket in tickets.items() if ticket.conversation == own) != key


def is_next(tickets: Tickets, key: str) -> bool:
    """Return whether it is the turn of a call: nobody asked before it, of those who are back.

    A ticket whose call does not come back, or comes back late, so never blocks the queue.
    """
    own = tickets[key].conversation
    waiting = (
        at for at, ticket in tickets.items() if ticket.conversation == own and ticket.is_back
    )
    return next(waiting) == key


@dataclass(slots=True)
class RepeatableAttempt:
    """An attempt that may be repeated: of a step with others, a task of a graph, a tool."""

    may_differ: bool = False
    """Whether the answer of a call in it may differ the next time."""
    has_acted: bool = False
    """Whether a call in it that must not happen twice may have happened."""


@dataclass(slots=True)
class StepProgress:
    """Every composite step, wait and approval that is in progress, by kind and by location."""

    sequences: dict[str, SequenceProgress] = field(default_factory=dict[str, SequenceProgress])
    """By location and part, since a location may have several lists of steps."""
    branches: dict[str, BranchProgress] = field(default_factory=dict[str, BranchProgress])
    loops: dict[str, LoopProgress] = field(default_factory=dict[str, LoopProgress])
    concurrent_loops: dict[str, ConcurrentLoopProgress] = field(
        default_factory=dict[str, ConcurrentLoopProgress]
    )
    repeated_calls: dict[str, dict[str, RepeatedCall]] = field(
        default_factory=dict[str, dict[str, RepeatedCall]]
    )
    """`{location of a loop: {digest of a call: the call}}`."""
    parallels: dict[str, ParallelProgress] = field(default_factory=dict[str, ParallelProgress])
    task_graphs: dict[str, TaskGraphProgress] = field(default_factory=dict[str, TaskGraphProgress])
    tool_loops: dict[str, AgentLoopProgress] = field(default_factory=dict[str, AgentLoopProgress])
    parked_turns: dict[str, ParkedTurn] = field(default_factory=dict[str, ParkedTurn])
    """Model turns that wait for their batches while the run continues as new."""
    said: dict[str, list[SaidMessage]] = field(default_factory=dict[str, list[SaidMessage]])
    """What people said to agents at work, in the order in which it came."""
    conversation_tickets: dict[str, ConversationTicket] = field(
        default_factory=dict[str, ConversationTicket]
    )
    """Calls that wait for their conversation or work in it, in the order in which they asked."""
    tool_retries: dict[str, int] = field(default_factory=dict[str, int])
    """Additional attempts so far of an agent or a team that a tool is made of."""
    shared_work: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    """What an agent that is a tool reads of other tools' work, while it works."""
    unpublished: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    """Results of its own tools, until its call is accepted."""
    hooked_calls: dict[str, HookedCall] = field(default_factory=dict[str, HookedCall])
    """The calls of tools that hooks have let pass, until they end."""
    programs: dict[str, ProgramProgress] = field(default_factory=dict[str, ProgramProgress])
    """Programs whose code calls tools."""
    handoffs: dict[str, HandedOff] = field(default_factory=dict[str, HandedOff])
    """The team that an agent has handed over to, until the run has left or its step runs again."""
    called_tools: dict[str, str] = field(default_factory=dict[str, str])
    """The tool that a `tool` step calls, until the step ends."""
    tries: dict[str, TryProgress] = field(default_factory=dict[str, TryProgress])
    retries: dict[str, RetryProgress] = field(default_factory=dict[str, RetryProgress])
    attempts: dict[str, RepeatableAttempt] = field(default_factory=dict[str, RepeatableAttempt])
    waits: dict[str, float] = field(default_factory=dict[str, float])
    """Unix time at which a `wait` for a time ends."""
    relative_waits: dict[str, float] = field(default_factory=dict[str, float])
    """Seconds left when the run continued as new: of a `wait` for a duration, or of the deadline of
    a `wait` for a message."""
    signal_waits: dict[str, float] = field(default_factory=dict[str, float])
    """Seconds left of a wait for a signal when the run continued as new."""
    time_limits: dict[str, float] = field(default_factory=dict[str, float])
    """Seconds left of a step's `timeout` when the run continued as new."""
    requests: dict[str, str] = field(default_factory=dict[str, str])
    """Id of the request that a step has opened."""
    approved_inputs: dict[str, JsonValue] = field(default_factory=dict[str, JsonValue])
    """Input of a step as a person approved it."""
    sending_calls: dict[str, SendingCall] = field(default_factory=dict[str, SendingCall])
    """Calls that send data out, from the question about them to their end."""
    call_inputs: dict[str, CallInput] = field(default_factory=dict[str, CallInput])
    """Calls of tools that wait for what a person answers."""
    cleared_labels: dict[str, int] = field(default_factory=dict[str, int])
    """The number of the latest label that an approval in concurrent work covers, within it."""
    outputs_to_approve: dict[str, Outcome] = field(default_factory=dict[str, Outcome])
    """Outcome of a step that a person has yet to accept."""
    failures_to_decide: dict[str, Outcome] = field(default_factory=dict[str, Outcome])
    """Outcome of a step with `on_failure: ask` whose failure a person has yet to decide about."""
    personas: dict[str, str] = field(default_factory=dict[str, str])
    """Name of the persona that the template of an agent step has chosen."""
    drafts: dict[str, ContextDraft] = field(default_factory=dict[str, ContextDraft])
    """Writes that join the context when their branch or attempt has succeeded."""

    def unjoined(self) -> Iterator[ContextWrite]:
        """Yield what steps in progress wrote and the context does not have yet."""
        for draft in self.drafts.values():
            yield from draft.writes
        for loop in self.concurrent_loops.values():
            for writes in loop.writes.values():
                yield from writes

    def values(self) -> Iterator[JsonValue]:
        """Yield what grows with a run's data: items, results, arguments, writes."""
        for loop in self.loops.values():
            yield from (loop.items, loop.results)
        for loop in self.concurrent_loops.values():
            yield loop.items
            yield from (outcome.data for outcome in loop.ended.values())
        for graph in self.task_graphs.values():
            for task in graph.tasks:
                yield from (task.value, task.data)
        for tool_loop in self.tool_loops.values():
            for call in tool_loop.loop.calls:
                yield from (
                    call.arguments,
                    call.data,
                    "" if call.result is None else call.result.text,
                )
        for program in self.programs.values():
            for asked in program.calls:
                answer = asked.answer
                yield from (asked.call.arguments, None if answer is None else answer.value)
        yield from (message.text for messages in self.said.values() for message in messages)
        for parallel in self.parallels.values():
            yield from (outcome.data for outcome in parallel.ended.values())
        yield from (write.value for write in self.unjoined())

    def kinds(self) -> tuple[dict[str, Any], ...]:
        """Return the dictionaries of all kinds."""
        return (
            self.sequences,
            self.branches,
            self.loops,
            self.concurrent_loops,
            self.repeated_calls,
            self.parallels,
            self.task_graphs,
            self.tool_loops,
            self.parked_turns,
            self.said,
            self.conversation_tickets,
            self.tool_retries,
            self.shared_work,
            self.unpublished,
            self.hooked_calls,
            self.programs,
            self.handoffs,
            self.called_tools,
            self.tries,
            self.retries,
            self.attempts,
            self.waits,
            self.relative_waits,
            self.signal_waits,
            self.time_limits,
            self.requests,
            self.approved_inputs,
            self.sending_calls,
            self.call_inputs,
            self.cleared_labels,
            self.outputs_to_approve,
            self.failures_to_decide,
            self.personas,
            self.drafts,
        )
