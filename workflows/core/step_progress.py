"""Progress: how far each composite step is. One type for each kind of step.

The state keeps each of them under the key of its place, so an interpreter that starts anew with the
same state continues at the same place (see docs/decisions/0007-frames-keep-every-position.md).
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Annotated, Any

from pydantic import Field, JsonValue

from activities.contracts import ContextUse
from dsl.evaluate.context import apply
from dsl.evaluate.context_writes import ContextWrite
from dsl.model.causes import HandedOff
from dsl.model.context.declarations import Declarations
from dsl.model.outcomes import Failure, Outcome
from dsl.model.tools.asked_input import AskedInput
from dsl.task_graph.graph_tasks import GraphTask, GraphTaskStatus, TaskNotes
from dsl.tool_loop.tool_loop_progress import ToolLoopProgress
from dsl.values import Json
from workflows.core.causes.trail_causes import TrailCause


def _list() -> list[JsonValue]:
    return []


def _outcomes() -> dict[str, Outcome]:
    return {}


@dataclass(slots=True)
class StartedStep:
    """The step of a list that is in progress."""

    at: float
    """Unix time."""
    cause: TrailCause | None = None
    """Why its `when` let it start."""
    tokens_before: int = 0
    """Tokens that the run had used when the step started."""
    tokens_of_others: int = 0
    """Tokens that concurrent steps have used since then."""
    attempt_at: float | None = None
    """Unix time at which the attempt in progress started, where the step has `fail_when`."""
    writes: tuple[ContextWrite, ...] = ()
    """What its `context_updates` did, once it has succeeded."""
    bounds: dict[str, float] | None = None
    """`{key: what its template gave}`, for the attempt in progress."""


@dataclass(slots=True)
class SequenceProgress:
    """A list of steps."""

    next: int = 0
    """Index of the step in progress, or of the next one."""
    started: StartedStep | None = None
    """None until the step at `next` starts."""


@dataclass(slots=True)
class BranchProgress:
    """A `branch` that has chosen one of its branches."""

    chosen: int | None
    """Index of the branch; None for `otherwise`."""


@dataclass(slots=True)
class LoopProgress:
    """A `loop` whose rounds run one after the other."""

    items: list[JsonValue] | None = None
    """The items of the loop; None for a loop with conditions only."""
    round: int = 0
    """Index of the current round."""
    results: list[JsonValue] = field(default_factory=_list)
    """The result of each finished round, except for those dropped."""
    dropped: int = 0
    """Number of the earliest results, dropped because there was no room."""


@dataclass(slots=True)
class ConcurrentLoopProgress:
    """A `loop` with concurrent rounds."""

    items: list[JsonValue]
    ended: dict[str, Outcome] = field(default_factory=_outcomes)
    """`{index of the round: its outcome}`."""
    writes: dict[str, list[ContextWrite]] = field(default_factory=dict[str, list[ContextWrite]])
    """`{index of a round that succeeded: what it wrote to the context}`."""


@dataclass(slots=True)
class RepeatedCall:
    """A call that the steps of a loop have repeated."""

    result: str
    """Digest of its latest result."""
    times: int
    """How many times in a row it gave this result."""
    skill: str


@dataclass(slots=True)
class ParallelProgress:
    """A `parallel` step."""

    ended: dict[str, Outcome] = field(default_factory=_outcomes)
    """`{branch: its outcome}`, in the order of their ends."""
    only: list[str] | None = None
    """The branches that run, in written order; None for all."""
    join: str | int | None = None
    """How they join, where a template chose it."""
    started: dict[str, float] = field(default_factory=dict[str, float])
    """`{branch: Unix time of its start}`."""
    scores: dict[str, float] = field(default_factory=dict[str, float])
    """`{branch: its score}`, of those that succeeded and have one."""


@dataclass(slots=True)
class TaskAttempts:
    """A task of a task graph that is in progress."""

    retries: int = 0
    """Additional attempts since the first one, or since a person's decision."""
    error: Failure | None = None
    """Of the latest attempt that failed."""
    recovering: bool = False
    """The steps of `on_failed_task` run."""


@dataclass(slots=True)
class TaskGraphProgress:
    """A `task_graph` step."""

    tasks: list[GraphTask] = field(default_factory=list[GraphTask])
    notes: TaskNotes = field(default_factory=TaskNotes)
    iterations: int = 0
    """Attempts that have started."""
    running: dict[str, TaskAttempts] = field(default_factory=dict[str, TaskAttempts])
    """`{number of the task: its attempts}`."""
    counts: dict[GraphTaskStatus, int] = field(default_factory=dict[GraphTaskStatus, int])
    results_size: int = 0
    """Bytes of JSON of the results."""
    tasks_size: int = 0
    """Bytes of JSON of the tasks themselves."""
    dropped: int = 0
    """Results that had no room."""
    oldest: list[int] = field(default_factory=list[int])
    """Tasks with a result, in the order of their ends."""


@dataclass(slots=True)
class AgentLoopProgress:
    """An agent that uses tools, between two of its turns and calls."""

    execution: int
    """The number of the execution of its step, which names its calls."""
    head: str | None = None
    """The name of its latest turn."""
    conversation: str | None = None
    """The conversation that it holds."""
    problem: str = ""
    """What is wrong with its latest answer, which must be given again."""
    fallback: str = ""
    """`provider/model` of the fallback that has taken over; empty if none has."""
    context: ContextUse | None = None
    """How full its conversation is, if its persona compacts it."""
    loop: ToolLoopProgress = field(default_factory=ToolLoopProgress)


@dataclass(slots=True)
class SendingCall:
    """A call that sends data out, and that a person decides about."""

    digest: str
    """Of its arguments: an approval covers these and no others."""
    approved: bool = False


@dataclass(slots=True)
class CallInput:
    """A call of a tool that has asked a person."""

    call: str
    """Digest of what is called with which input."""
    execution: int
    """The number of the execution of its step, which names the call."""
    asked: AskedInput
    rounds: int = 1
    """How often it has asked."""
    is_answered: bool = False
    """Whether a person has answered, and the call is made again."""
    answers: dict[str, Json] = field(default_factory=dict[str, Json])
    """By the key of the question."""
    by: str = ""
    """Who gave the last answers."""


@dataclass(slots=True)
class TryProgress:
    """A `try` step."""

    caught: int | None = None
    """Index of the clause that caught the failure; None if none has."""
    outcome: Outcome | None = None
    """Outcome of the steps and their clause, while `finally` runs."""


@dataclass(slots=True)
class RetryProgress:
    """A step with `retry`."""

    retries: int = 0
    """Attempts that have failed."""
    calls_before: int | None = None
    """Calls of the run when the current attempt started; None between attempts."""
    wait: float | None = None
    """Seconds left of the wait for the next attempt when the run continued as new."""
    most: int | None = None
    """Additional attempts, where a template gave them."""


@dataclass(slots=True)
class ContextDraft:
    """What a branch, or an attempt that may fail, wrote to the context; others do not see it."""

    writes: list[ContextWrite] = field(default_factory=list[ContextWrite])
    base: Annotated[Json | None, Field(exclude=True)] = None
    """The context under the view; neither travels."""
    view: Annotated[Json, Field(exclude=True)] = field(default_factory=dict[str, JsonValue])
    applied: Annotated[int, Field(exclude=True)] = 0

    def over(self, context: Json, declared: Declarations) -> Json:
        """Return the context with these writes; each write is applied once."""
        if self.base is not context:
            self.base = self.view = context
            self.applied = 0
        if self.applied < len(self.writes):
            self.view = apply(self.view, self.writes[self.applied :], declared)
            self.applied = len(self.writes)
        return self.view


@dataclass(slots=True)
class HookedCall:
    """A call of a tool as its hooks let it pass."""

    given: Json
    """Its whole input."""
    changed_by: list[str] = field(default_factory=list[str])
    """The hooks that changed it."""
    retries: dict[str, int] = field(default_factory=dict[str, int])
    """`{hook: retries so far}`."""


@dataclass(slots=True)
class StepProgress:
    """Every composite step, wait and approval that is in progress, by kind and by place."""

    sequences: dict[str, SequenceProgress] = field(default_factory=dict[str, SequenceProgress])
    """By place and part, since a place may have several lists of steps."""
    branches: dict[str, BranchProgress] = field(default_factory=dict[str, BranchProgress])
    loops: dict[str, LoopProgress] = field(default_factory=dict[str, LoopProgress])
    concurrent_loops: dict[str, ConcurrentLoopProgress] = field(
        default_factory=dict[str, ConcurrentLoopProgress]
    )
    repeated_calls: dict[str, dict[str, RepeatedCall]] = field(
        default_factory=dict[str, dict[str, RepeatedCall]]
    )
    """`{place of a loop: {digest of a call: the call}}`."""
    parallels: dict[str, ParallelProgress] = field(default_factory=dict[str, ParallelProgress])
    task_graphs: dict[str, TaskGraphProgress] = field(default_factory=dict[str, TaskGraphProgress])
    tool_loops: dict[str, AgentLoopProgress] = field(default_factory=dict[str, AgentLoopProgress])
    tool_retries: dict[str, int] = field(default_factory=dict[str, int])
    """Additional attempts so far of an agent or a team that a tool is made of."""
    shared_work: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    """What an agent that is a tool reads of other tools' work, while it works."""
    unpublished: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    """Results of its own tools, until its call is accepted."""
    hooked_calls: dict[str, HookedCall] = field(default_factory=dict[str, HookedCall])
    """The calls of tools that hooks have let pass, until they end."""
    handoffs: dict[str, HandedOff] = field(default_factory=dict[str, HandedOff])
    """The team that an agent has handed over to, until its step ends."""
    called_tools: dict[str, str] = field(default_factory=dict[str, str])
    """The tool that a `tool` step calls, until the step ends."""
    tries: dict[str, TryProgress] = field(default_factory=dict[str, TryProgress])
    retries: dict[str, RetryProgress] = field(default_factory=dict[str, RetryProgress])
    waits: dict[str, float] = field(default_factory=dict[str, float])
    """Unix time at which a `wait` for a time ends."""
    relative_waits: dict[str, float] = field(default_factory=dict[str, float])
    """Seconds left of a `wait` for a duration when the run continued as new."""
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
            self.tool_retries,
            self.shared_work,
            self.unpublished,
            self.hooked_calls,
            self.handoffs,
            self.called_tools,
            self.tries,
            self.retries,
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
