"""How far one composite step, wait or approval is. One type for each kind.

`workflows.core.progress.step_progress` keeps each of them under the key of its location.
"""

from dataclasses import dataclass, field
from typing import Annotated

from pydantic import Field, JsonValue

from coterie.dsl.evaluate.context import apply
from coterie.dsl.evaluate.context_writes import ContextWrite
from coterie.dsl.model.context.declarations import Declarations
from coterie.dsl.model.outcomes import Failure, Outcome
from coterie.dsl.task_graph.graph_tasks import GraphTask, GraphTaskStatus, TaskNotes
from coterie.dsl.values import Json
from coterie.workflows.core.causes.step_causes import WhenAsked


def _list() -> list[JsonValue]:
    return []


def _outcomes() -> dict[str, Outcome]:
    return {}


@dataclass(slots=True)
class StartedStep:
    """The step of a list that is in progress."""

    at: float
    """Unix time."""
    when: WhenAsked | None = None
    """What its `when` found as it held."""
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
    bound: int | None = None
    """The maximum of rounds, if the list is longer."""

    @property
    def rounds(self) -> int:
        """How many rounds run."""
        return len(self.items) if self.bound is None else self.bound


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
    wait: float | None = None
    """Seconds left of the wait for the next attempt when the run continued as new."""
    maximum: int | None = None
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
