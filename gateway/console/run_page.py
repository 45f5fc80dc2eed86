"""The page of one run: a typed view of everything that its histories tell. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from coterie.dsl.model.traversal.step_walk import message_waits
from coterie.explaining.origins import Effective
from coterie.gateway.console.bounds_met import Proofs, proofs_of
from coterie.gateway.console.context_origins import ContextRow, context_of
from coterie.gateway.console.conversations_view import AgentTalk, conversations_of
from coterie.gateway.console.decisions_view import VisitCard, visit_cards
from coterie.gateway.console.drawn_figures import TeamGraph, team_graph
from coterie.gateway.console.effect_rows import EffectRow, effect_rows
from coterie.gateway.console.page_values import ShownValue, shown_brief, shown_value
from coterie.gateway.console.plan_outline import PlanOutline, outline_of
from coterie.gateway.console.request_cards import RequestCard, request_cards
from coterie.gateway.console.spending import Spending, spending_of
from coterie.gateway.console.timeline import timeline_of
from coterie.gateway.timelines.bars import Timeline
from coterie.graph.taken_path import walk_of
from coterie.inspection.followed_run import FollowedRun
from coterie.inspection.trace import calls_of, trace_of
from coterie.rendering.cost_tables import money_text
from coterie.rendering.run_text import outputs
from coterie.replay.rebuilt_run import Rebuilt
from coterie.runs.effects_ledger import effects_of
from coterie.runs.ends.end_facts import RunEnd
from coterie.runs.ends.end_words import incomplete_reason
from coterie.runs.histories.history_events import closed, started
from coterie.runs.progress import Tone
from coterie.runs.task_trees import TreeRow, task_tree
from coterie.text.durations import duration
from coterie.text.problems import counted
from coterie.workflows.core.messages import TeamInput
from coterie.workflows.core.progress.progress_kinds import TaskGraphProgress
from coterie.workflows.core.requests import Pending
from coterie.workflows.core.views import RunStatus, TrailEntry


@dataclass(frozen=True, slots=True)
class RunFact:
    """One figure at the top of a page."""

    name: str
    value: str
    note: str = ""


@dataclass(frozen=True, slots=True)
class RunInput:
    """How a run started."""

    by: str
    """`team review`, `a plan`, `a fork of run-1`."""
    context: ShownValue | None
    origin: str = ""
    """The run that it was forked from."""


@dataclass(frozen=True, slots=True)
class TaskGraphCard:
    """One task graph as a tree."""

    headline: str
    rows: tuple[TreeRow, ...]


@dataclass(frozen=True, slots=True)
class HistoryLink:
    """One history of a long run: a page of its own has all of it."""

    number: int
    """From 1, the oldest."""
    url: str
    began: datetime
    events: int


@dataclass(frozen=True, slots=True)
class LongRun:
    """What the page of a long run has instead of the whole run."""

    events: int
    """Of all its histories."""
    histories: tuple[HistoryLink, ...]
    """Newest first."""
    answered: datetime | None
    """When the run has answered; None: it has not yet."""
    refusal: str
    """Why it has not answered the latest question."""
    entries: int
    """Of its whole trail, of which the page has the newest."""
    older: str
    """The address of older calls; empty: there are none."""
    newest: str
    """The address of the newest end; empty: this is it."""
    bars: str
    """The address of the bars of the whole run, for a picture by script."""
    drawn: Timeline | None
    """The picture of the whole run, drawn here."""


@dataclass(frozen=True, slots=True)
class PartOfRun:
    """Which history of a run a page is about."""

    run_id: str
    number: int
    count: int
    """Histories of the run."""
    run_url: str


@dataclass(frozen=True, slots=True)
class RunPage:
    """Everything that the page of one run shows."""

    run: str
    plan: PlanOutline
    state: str
    tone: Tone
    because: str
    """Why it ended so, or why it is where it is."""
    began: datetime
    ended: datetime | None
    read_at: datetime
    """When its history was read."""
    facts: tuple[RunFact, ...]
    input: RunInput
    output: tuple[tuple[str, ShownValue], ...]
    graph: TeamGraph
    timeline: Timeline
    visits: tuple[VisitCard, ...]
    lost: str
    """What the histories lack; empty: nothing."""
    agents: tuple[AgentTalk, ...]
    trees: tuple[TaskGraphCard, ...]
    context: tuple[ContextRow, ...]
    effects: tuple[EffectRow, ...]
    spending: Spending
    requests: tuple[RequestCard, ...]
    proofs: Proofs
    is_session: bool
    """Whether people talk with it."""
    long: LongRun | None = None
    """Of a long run: the page has its newest end."""
    part: PartOfRun | None = None
    """The page is about one history of a run, and not about the whole run."""

    @property
    def all_url(self) -> str:
        """The address with all rows of each list."""
        return "?all=1" if self.part is None else f"?history={self.part.run_id}&all=1"


def run_page(
    recorded: FollowedRun,
    now: datetime,
    values: Sequence[Effective] | None = None,
    workspace: Path | None = None,
) -> RunPage:
    """Return the page of a run.

    Args:
        recorded: The run.
        now: The time of the view.
        values: Of the document that compiles to its plan, if it is here.
        workspace: Folder of the files that requests would change; None if it is elsewhere.
    """
    latest, trace = recorded.latest, trace_of(recorded)
    end = closed(recorded.histories[-1])
    began = started(recorded.histories[0]).at
    ended = None if end is None else end.at
    calls = calls_of(recorded, trace.trail)
    status = latest.status
    seen = tuple(_previous_requests(recorded.parts))
    requests = request_cards(latest.requests, seen, workspace)
    state, tone, because = state_of(None if end is None else end.end, status)
    seconds = ((ended or now) - began).total_seconds()
    walk = walk_of(recorded.id, because or state, trace.trail, status, over=end is not None)
    visits = {(visit.team, visit.visit): visit for visit in trace.visits}
    return RunPage(
        run=recorded.id,
        plan=outline_of(latest.plan, values),
        state=state,
        tone=tone,
        because=because,
        began=began,
        ended=ended,
        read_at=now,
        facts=tuple(facts_of(status, seconds, len(trace.retried))),
        input=input_of(started(recorded.histories[0]).input),
        output=() if end is None else output_of(end.end),
        graph=team_graph(latest.plan, walk, visits),
        timeline=timeline_of(began, ended or now, trace.visits, calls),
        visits=visit_cards(trace),
        lost=_missing_entries(trace.trail),
        agents=conversations_of(calls),
        trees=_trees(recorded.parts),
        context=context_of(latest.context, trace.visits),
        effects=effect_rows(effects_of(latest.plan, calls, trace.trail, has_ended=end is not None)),
        spending=spending_of(latest.cost, seconds, is_open=end is None),
        requests=requests,
        proofs=proofs_of(latest.plan, status, sum(not card.is_open for card in requests)),
        is_session=bool(message_waits(latest.plan)),
    )


def _previous_requests(parts: Sequence[Rebuilt]) -> list[Pending]:
    """Return the requests that people decided, as they were before."""
    messages = [message for part in parts for message in part.received]
    return [request for message in messages for request in message.changed]


def state_of(end: RunEnd | None, status: RunStatus) -> tuple[str, Tone, str]:
    """Return the state of a run, its tone, and why."""
    if end is None:
        waits = status.state in ("waiting", "paused") or bool(status.waiting_for)
        state = "waiting" if status.waiting_for and status.state == "running" else status.state
        return state, "waiting" if waits else "working", status.last_because
    if end.completed:
        return "completed", "good", "" if end.result is None else end.result.because
    return end.state, "bad", incomplete_reason(end)


def facts_of(status: RunStatus, seconds: float, retries: int) -> list[RunFact]:
    """Return the figures at the top of a page; `retries` counts the calls that were retried."""
    usage = status.usage
    money = money_text(status.cost, unpriced=status.unpriced) if status.model_calls else "none"
    retried = counted(retries, "retried call") if retries else ""
    bound = f"of {status.max_total_teams}"
    tokens = f"{usage.input_tokens:,} in, {usage.output_tokens:,} out"
    estimated = f"estimated for {counted(status.estimated, 'call')}" if status.estimated else ""
    return [
        RunFact("Duration", duration(max(0.0, seconds))),
        RunFact("Team visits", f"{status.visits_toward_limit:,}", bound),
        RunFact("Model calls", f"{status.model_calls:,}", retried),
        RunFact("Tool calls", f"{status.function_calls:,}"),
        RunFact("Tokens", f"{usage.total:,}", tokens if usage.total else ""),
        RunFact("Cost", money, estimated),
    ]


def input_of(first: TeamInput) -> RunInput:
    """Return how a run started."""
    match first:
        case _ if first.fork is not None:
            by = f"a fork of {first.fork.run}"
        case _ if first.carried is not None:
            by = "an earlier part, which is gone"
        case _ if first.team is not None:
            by = f"team {first.team}"
        case _:
            by = "an inline document" if first.document is not None else "a plan"
    origin = "" if first.fork is None else first.fork.run
    return RunInput(by, shown_value(first.context) if first.context else None, origin)


def output_of(end: RunEnd) -> tuple[tuple[str, ShownValue], ...]:
    """Return what a run returned."""
    pairs = () if end.result is None else outputs(end.result)
    return tuple((name, shown_brief(data)) for name, data in pairs if data is not None)


def _missing_entries(trail: Sequence[TrailEntry]) -> str:
    """Say which entries of the trail the histories no longer have."""
    if not trail or trail[0].number == 1:
        return ""
    return f"the histories here start at event {trail[0].number:,}; earlier ones are gone"


def _trees(parts: Sequence[Rebuilt]) -> tuple[TaskGraphCard, ...]:
    graphs: dict[str, TaskGraphProgress] = {}
    for part in parts:
        graphs |= part.graphs
    open_graphs = parts[-1].open_graphs
    trees = [task_tree(step, graph, over=step not in open_graphs) for step, graph in graphs.items()]
    return tuple(TaskGraphCard(tree.headline, tuple(tree.rows())) for tree in trees)
