"""What people and programs say to a run, and what it answers.

Payloads of signals, updates and queries; plain and small, so that the `temporal` CLI shows
them whole.
"""

from typing import Literal

from pydantic import Field, JsonValue

from activities.contracts import TokenUsage
from dsl.outcomes import End, Failure
from dsl.plan import Plan
from dsl.values import Frozen, Json

Verdict = Literal["approved", "rejected", "counted", "retried", "skipped", "failed"]
How = Literal["update", "signal", "deadline", "remembered"]
TrailKind = Literal["team", "step", "route", "approval", "refused", "control", "budget", "notice"]


class ForkInput(Frozen):
    """Another run, and the point from which this one goes on; its plan comes with it."""

    run: str
    run_id: str | None = None
    """Of an earlier run of that id; the latest unless said."""
    at: str | None = None
    """The beginning of a visit, `review#2`; where the run failed, unless said."""
    updates: Json = Field(default_factory=dict[str, JsonValue])
    """`{dotted path: value}`: what is otherwise in the context."""
    by: str = "unknown"
    why: str = ""


class TeamInput(Frozen):
    """How a run is started: a team the worker knows, inline YAML, a plan, or another run."""

    team: str | None = None
    """The name of a document in the worker's catalog."""
    document: str | None = None
    """Inline YAML; compiled on the worker, which trusts none of it."""
    plan: Plan | None = None
    fork: ForkInput | None = None
    context: Json = Field(default_factory=dict[str, JsonValue])
    carried: Json | None = None
    """The state of a run that continues as new; only the run itself writes this."""
    marked: bool = False
    """With a plan: ask the worker how the run is to be seen; without one it says so anyway."""


class Control(Frozen):
    """The payload of the signals `pause` and `resume`."""

    by: str = "unknown"
    why: str = ""


class AmendInput(Frozen):
    """The payload of the update `amend`: changes to the context at the next boundary."""

    updates: Json
    """`{dotted path: value}`."""
    by: str = "unknown"
    why: str = ""


class RedirectInput(Frozen):
    """The payload of the update `redirect`: the team that comes next, whatever the routes say."""

    team: str
    by: str = "unknown"
    why: str = ""


class RetryInput(Frozen):
    """The payload of the update `retry`: a failed task that waits is tried again."""

    task: str | None = None
    """`team/task`, or its end; not needed when just one waits."""
    by: str = "unknown"
    why: str = ""


class SkipInput(Frozen):
    """The payload of the update `skip`: a task is left out, now or when it begins."""

    task: str
    """`team/task`, or its end."""
    value: JsonValue = None
    """What counts as its data from then on."""
    by: str = "unknown"
    why: str = ""


class Paused(Frozen):
    """Why a run starts nothing new."""

    by: str
    why: str
    since: str
    """ISO 8601, UTC."""


class Answer(Frozen):
    """The payload of the signals `approve` and `reject`."""

    id: str = Field(max_length=500)
    """Which request: as the query `pending` gives it, `team/step#visit`."""
    by: str = Field(default="unknown", max_length=200)
    comment: str = Field(default="", max_length=10_000)
    digest: str | None = None
    """Of what was shown, as `pending` gives it: a request that shows something else by now is not
    decided by it."""
    payload: JsonValue = None
    """What shall be instead of what was shown, where the request is `editable`."""


class DecideInput(Answer):
    """The payload of the update `decide`."""

    decision: Literal["approve", "reject"]


class Pending(Frozen):
    """A request that waits for a person."""

    id: str
    prompt: str
    show: JsonValue = None
    digest: str = ""
    """Of the prompt and of what is shown."""
    approvers: tuple[str, ...] = ()
    """Everyone who may decide; anyone when empty."""
    quorum: int = 1
    """So many have to approve."""
    choices: tuple[str, ...] = ()
    """What may be said of a failed task; without any it is an approval."""
    approved_by: tuple[str, ...] = ()
    """Who has approved so far, where one is not enough."""
    editable: bool = False
    payload_schema: Json | None = None
    """JSON Schema that a change has to meet, and what is approved."""
    changes: tuple[str, ...] = ()
    """What was changed so far, and by whom: `pages: 3 -> 4 (ann)`."""
    since: str
    """ISO 8601, UTC."""
    deadline: str | None = None
    """ISO 8601, UTC."""
    on_timeout: str | None = None
    reminders: int = 0
    escalations: int = 0
    told: bool = False
    """People have been told of it, where the plan names a channel."""
    stood_still: float = 0.0
    """Seconds for which the run was paused meanwhile; they do not count."""
    remembered_as: str | None = None
    """The key under which an approval answers equal requests of this run."""
    cut: bool = False
    """In a list of what is pending: too large to be told whole; the query `request` tells it."""


class Decision(Frozen):
    """A decided request, as it stays on record."""

    id: str
    verdict: Verdict
    """`counted`: an approval that is not enough yet; `retried`, `skipped` and `failed`: of a task
    that failed, or that a person left out."""
    by: str
    """Who decided; everyone who approved, where it took several."""
    comment: str = ""
    at: str
    """ISO 8601, UTC."""
    how: How
    payload: JsonValue = None
    """Where it was editable: what was shown in the end, with all changes."""
    changes: tuple[str, ...] = ()
    """What was changed, and by whom: `pages: 3 -> 4 (ann)`."""
    digest: str = ""
    """Of what was approved, where it was changed."""
    run: str | None = None
    """Of which run, where it is not this one's own: this run was forked from it afterwards."""


class RequestAsked(Frozen):
    """The argument of the query `request`."""

    id: str


class RequestView(Frozen):
    """One request, whole: while it waits, or how it was decided."""

    pending: Pending | None = None
    decision: Decision | None = None


RefusalCode = Literal[
    "Malformed", "UnknownRequest", "RequestClosed", "NotAllowed", "RequestChanged",
    "AlreadyApproved", "BadPayload", "NoApproval",
]  # fmt: skip


class Refusal(Frozen):
    """Why a decision was not taken: the detail of the error that `decide` answers with."""

    code: RefusalCode
    """The type of that error too."""
    message: str
    request: str | None = None
    """The request, when there is or was one of that id."""
    decision: Decision | None = None
    """With `RequestClosed`: how it was decided."""
    pending: tuple[str, ...] = ()
    """With `UnknownRequest`: what waits."""
    approvers: tuple[str, ...] = ()
    """With `NotAllowed`: who may decide."""
    digest: str | None = None
    """With `RequestChanged`: of what is shown now."""
    approved_by: tuple[str, ...] = ()
    """With `AlreadyApproved`: who has."""


class TrailEntry(Frozen):
    """One event of a run, told with its reason."""

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


class Activity(Frozen):
    """What a run is doing now."""

    step: str
    since: str


Standing = Literal["running", "waiting", "paused", "stopping", "cancelled", "done"]
"""`stopping`: it is cancelled, and cleans up; `done`: it has ended otherwise than cancelled."""


class BudgetUse(Frozen):
    """How much of a budget is used."""

    id: str
    """`run.tokens`, `team.review.money`, `persona.coder.model_calls`, `task.draft.write.tokens`."""
    used: float
    limit: float
    """Tokens, US dollars, calls or seconds; with what people added."""
    on_exceeded: str
    state: Literal["open", "warned", "used_up", "not_held"] = "open"
    """`not_held`: of money, and some model has no price."""
    extended: float = 0.0
    """By so much, by people."""

    @property
    def left(self) -> float:
        """What may be used yet."""
        return max(self.limit - self.used, 0.0)


class CostRow(Frozen):
    """What the calls of one team, task, persona, model or tool have used."""

    name: str
    calls: int
    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    """Of the input."""
    cost: float | None = None
    """US dollars of the calls that have a price; None when none has."""
    unpriced: int = 0
    """Calls of models without a price; the cost leaves them out."""
    untold: int = 0
    """Turns of agents that do not tell what they use."""
    seconds: float = 0.0
    """In which the calls worked, added up."""


class CostReport(Frozen):
    """What a run has used: the answer of the query `cost`."""

    total: CostRow
    teams: tuple[CostRow, ...] = ()
    tasks: tuple[CostRow, ...] = ()
    personas: tuple[CostRow, ...] = ()
    models: tuple[CostRow, ...] = ()
    tools: tuple[CostRow, ...] = ()
    """Skills, by their own names."""
    budgets: tuple[BudgetUse, ...] = ()
    left_out: dict[str, int] = Field(default_factory=dict[str, int])
    """`{teams, tasks, ...: rows that are left out}`; those that used least."""


class RunStatus(Frozen):
    """Where a run is: the answer of the query `status`."""

    plan: str
    digest: str
    state: Standing
    paused: Paused | None = None
    team: str | None
    visit: int | None
    doing: tuple[Activity, ...] = ()
    """Steps in progress, outermost first."""
    waiting_for: tuple[str, ...] = ()
    """Ids of pending requests."""
    teams_run: int
    """Team visits so far, of `max_total_teams`."""
    max_total_teams: int
    visits: dict[str, int]
    model_calls: int
    skill_calls: int
    usage: TokenUsage
    cost: float | None = None
    """US dollars of all calls so far; None when none has a price."""
    unpriced: bool = False
    """Some calls have no price, so `cost` is not all."""
    budgets: tuple[BudgetUse, ...] = ()
    last_because: str = ""
    events: int
    """Trail entries so far."""
    trail_digest: str = ""
    """Chained over every decision so far; the same in each worker that would decide the same."""


class EventsAsked(Frozen):
    """The argument of the query `events`."""

    since: int = 0
    """Entries after this number."""


class TrailPage(Frozen):
    """Trail entries after `since`, oldest first; ask again from the last number."""

    entries: tuple[TrailEntry, ...]
    more: bool
    first: int = 0
    """The oldest entry that the run keeps; history has all."""


class StateAsked(Frozen):
    """The argument of the query `state`."""

    path: str | tuple[str, ...] = ""
    """Dotted; a list of names where one of them has a dot itself."""
    start: int = Field(default=0, ge=0)
    """The character, item or key with which the page begins."""


class StateView(Frozen):
    """A part of what a run remembers: the answer of the query `state`."""

    path: JsonValue
    value: JsonValue
    """Where a part is too large: `{"left_out": its kind and size, "path": ask for that}`."""
    size: int
    """Bytes of the whole, as JSON."""
    whole: bool
    next: int | None = None
    """The `start` of the next page."""


class TeamResult(Frozen):
    """The result of a run, also of a failed one (as the failure's first detail)."""

    end: End
    because: str
    plan: str
    digest: str
    context: Json
    output: dict[str, JsonValue] = Field(default_factory=dict[str, JsonValue])
    """`{task: data}` of the last team."""
    visits: dict[str, int]
    teams_run: int
    model_calls: int
    skill_calls: int
    usage: TokenUsage
    cost: float | None = None
    """US dollars of all calls; None when none has a price."""
    unpriced: bool = False
    """Some calls have no price, so `cost` is not all."""
    decisions: tuple[Decision, ...] = ()
    trail_length: int
    trail_digest: str
    """Chained over every decision of the run: equal digests, equal decisions."""
    error: Failure | None = None
