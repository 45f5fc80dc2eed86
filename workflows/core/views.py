"""Views: the answers of a run's queries, its trail and its result.

Plain and small, so that the `temporal` CLI shows them in full.
"""

from typing import Literal

from pydantic import Field, JsonValue

from coterie.activities.contracts import TokenUsage
from coterie.dsl.model.outcomes import End, Failure
from coterie.dsl.task_graph.graph_tasks import GraphTaskStatus
from coterie.dsl.values import Frozen, Json
from coterie.workflows.core.causes.step_causes import WhenAsked
from coterie.workflows.core.causes.trail_causes import TrailCause
from coterie.workflows.core.requests import Decision
from coterie.workflows.signatures.statements import Authority

TrailKind = Literal["team", "step", "route", "approval", "refused", "control", "budget", "notice"]

Standing = Literal["running", "waiting", "paused", "stopping", "cancelled", "done"]
"""`stopping`: it is cancelled, and cleans up; `done`: it has ended, but was not cancelled."""


class Paused(Frozen):
    """Why a run starts nothing new."""

    by: str
    why: str
    since: str
    """ISO 8601, UTC."""


class CollectedFiles(Frozen):
    """What a tool function has collected for prompts, shown before a model reads it."""

    files: int
    estimated_tokens: int
    """A token for each 4 bytes of their contents."""
    models: tuple[str, ...] = ()
    """`provider/model` of the plan's personas that may read them; the first few."""


class TrailEntry(Frozen):
    """One event of a run, with its reason."""

    number: int
    """From 1, without gaps."""
    at: str
    kind: TrailKind
    team: str
    visit: int
    step: str | None = None
    """Path of the step within the team: `coder/apply`."""
    status: str | None = None
    because: str = ""
    next_team: str | None = None
    updated: tuple[str, ...] = ()
    """Context paths that a route changed."""
    seconds: float | None = None
    tokens: int | None = None
    found: CollectedFiles | None = None
    """With a tool function that collects files."""
    event: str | None = None
    """Of the start of a visit: the name that its team gives it."""
    ran_because: str = ""
    """Of the end of a step with a `when`: what the condition found as the step started."""
    when: WhenAsked | None = None
    """The facts behind `ran_because`, for programs."""
    cause: TrailCause | None = None
    """The facts behind `because`, for programs; a failure's message is in `because` alone."""


class TrailPage(Frozen):
    """Trail entries after `since`, oldest first; query again from the last number."""

    entries: tuple[TrailEntry, ...]
    more: bool
    first: int = 0
    """The oldest entry that the run keeps; history has all."""


class StepInProgress(Frozen):
    """What a run is doing now."""

    step: str
    since: str
    turn: int | None = None
    """Of an agent that uses tools: its model turns so far."""
    arguments: str | None = None
    """Of a call of a model: the beginning of its arguments, as JSON."""


class BudgetUse(Frozen):
    """How much of a budget is used."""

    id: str
    """`run.tokens`, `team.review.money`, `persona.coder.model_calls`, `task.draft.write.tokens`."""
    used: float
    estimated: bool = False
    """Whether some of it is of providers that report no usage."""
    limit: float
    """Tokens, US dollars, calls or seconds; includes the extensions."""
    on_exceeded: str
    state: Literal["open", "warned", "used_up", "not_held"] = "open"
    """`not_held`: a budget of money, while some model has no price."""
    extended: float = 0.0
    """The extensions that people granted."""
    reserved: float = 0.0
    """What the calls in progress will probably use."""


class GraphTaskView(Frozen):
    """One task of a task graph in progress."""

    id: str
    status: GraphTaskStatus
    because: str


class TaskGraphView(Frozen):
    """A task graph in progress."""

    step: str
    """`team/path` of its step."""
    counts: dict[str, int]
    """`{status: tasks}`; only those that some task has."""
    tasks: tuple[GraphTaskView, ...]
    """In written order; of a large graph, those in progress and failed before the others."""
    left_out: int = 0
    """Tasks that are not shown."""


class RoundsView(Frozen):
    """A loop with concurrent rounds in progress."""

    step: str
    """`team/path` of its step."""
    rounds: int
    counts: dict[str, int]
    """`{state: rounds}` of those that some round has: `success`, `failure`, `skipped`, `running`,
    `waiting` (for a person), `pending` (not started)."""


class PushReceiver(Frozen):
    """An A2A client that hears where the run is."""

    id: str
    url: str
    context: str


class RunStatus(Frozen):
    """Where a run is and what it does: the answer of the query `status`."""

    plan: str
    digest: str
    version: str | None = None
    """The deployed version that the run was started from, such as `review@3`."""
    state: Standing
    paused: Paused | None = None
    team: str | None
    visit: int | None
    doing: tuple[StepInProgress, ...] = ()
    """Steps in progress, outermost first."""
    calls: dict[str, str] = Field(default_factory=dict[str, str])
    """`{id of an activity in progress: its step}`; the first 200."""
    graphs: tuple[TaskGraphView, ...] = ()
    """Task graphs in progress."""
    loops: tuple[RoundsView, ...] = ()
    """Loops with concurrent rounds in progress."""
    waiting_for: tuple[str, ...] = ()
    """Ids of pending requests."""
    teams_run: int
    """Team visits so far, of `max_total_teams`."""
    max_total_teams: int
    visits_counted: int | None = None
    """In a session: the team visits since the latest message. None: all count."""
    messages: int = 0
    """Messages of the session so far."""
    visits: dict[str, int]
    model_calls: int
    function_calls: int
    usage: TokenUsage
    cost: float | None = None
    """US dollars of all calls so far; None when none has a price."""
    unpriced: bool = False
    """Some calls have no price, so `cost` is not all."""
    estimated: int = 0
    """Model calls whose provider reports no usage: their tokens and their cost are estimated."""
    budgets: tuple[BudgetUse, ...] = ()
    last_because: str = ""
    events: int
    """Trail entries so far."""
    trail_digest: str = ""
    """Chained over every decision so far; equal in all workers that decide alike."""
    push: tuple[PushReceiver, ...] = ()
    """The A2A clients that hear where it is."""
    authority: Authority | None = None
    """What the run demands of decisions; None: they need no signature."""

    @property
    def visits_toward_limit(self) -> int:
        """Team visits that count toward `max_total_teams`."""
        return self.teams_run if self.visits_counted is None else self.visits_counted


class CostRow(Frozen):
    """The usage of one team, task, persona, model or tool."""

    name: str
    calls: int
    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    """Cached tokens; part of the input."""
    cost: float | None = None
    """US dollars of the calls that have a price; None when none has."""
    unpriced: int = 0
    """Calls of models without a price; the cost leaves them out."""
    unreported: int = 0
    """Turns of agents that do not report their usage."""
    cut_off: int = 0
    """Model calls that were left while they ran, or lost with their worker: their input tokens are
    estimated, and their output is not counted. A lost one costs what its input does; of one that
    was left, no cost is known."""
    estimated: int = 0
    """Model calls whose provider reports no usage: their tokens and their cost are estimated."""
    seconds: float = 0.0
    """Time that the calls worked, in total."""


class CostReport(Frozen):
    """What a run has used: the answer of the query `cost`."""

    total: CostRow
    teams: tuple[CostRow, ...] = ()
    tasks: tuple[CostRow, ...] = ()
    personas: tuple[CostRow, ...] = ()
    models: tuple[CostRow, ...] = ()
    tools: tuple[CostRow, ...] = ()
    """Tool functions, by their own names."""
    budgets: tuple[BudgetUse, ...] = ()
    left_out: dict[str, int] = Field(default_factory=dict[str, int])
    """`{teams, tasks, ...: number of rows left out}`: those that used least."""


class StateView(Frozen):
    """A part of the state of a run: the answer of the query `state`."""

    path: JsonValue
    value: JsonValue
    """Where a part is too large: `{"left_out": its kind and size, "path": query this path}`."""
    size: int
    """Bytes of the whole, as JSON."""
    whole: bool
    next: int | None = None
    """The `start` of the next page; None on the last."""


class TeamResult(Frozen):
    """The result of a run; a failed run has it as its failure's first detail."""

    end: End
    because: str
    plan: str
    digest: str
    context: Json
    output: JsonValue = Field(default_factory=dict[str, JsonValue])
    """The declared output of the document; without one, or if the run did not complete,
    `{task: data}` of the last team."""
    visits: dict[str, int]
    teams_run: int
    model_calls: int
    function_calls: int
    usage: TokenUsage
    cost: float | None = None
    """US dollars of all calls; None when none has a price."""
    unpriced: bool = False
    """Some calls have no price, so `cost` is not all."""
    estimated: int = 0
    """Model calls whose provider reports no usage: their tokens and their cost are estimated."""
    decisions: tuple[Decision, ...] = ()
    trail_length: int
    trail_digest: str
    """Chained over every decision of the run: equal digests, equal decisions."""
    error: Failure | None = None
    root: str = ""
    """The type of the failure that made the last team fail, if that ended the run."""
