"""The page of a long run: its newest end, and what the run says of itself. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from coterie.dsl.evaluate.context import differences
from coterie.dsl.model.plan import Plan
from coterie.dsl.model.traversal.step_walk import message_waits
from coterie.dsl.values import Json
from coterie.explaining.origins import Effective
from coterie.gateway.console.bounds_met import Proofs, proofs_of
from coterie.gateway.console.context_origins import ContextRow
from coterie.gateway.console.decisions_view import visit_cards
from coterie.gateway.console.drawn_figures import team_graph
from coterie.gateway.console.long_runs.reported_state import Report
from coterie.gateway.console.page_values import shown_brief
from coterie.gateway.console.plan_outline import outline_of
from coterie.gateway.console.request_cards import request_cards
from coterie.gateway.console.run_page import (
    LongRun,
    RunFact,
    RunInput,
    RunPage,
    facts_of,
    output_of,
    state_of,
)
from coterie.gateway.console.spending import Spending, SpendingRow, spending_of
from coterie.gateway.timelines.bars import Timeline
from coterie.graph.taken_path import Walk, walk_of
from coterie.inspection.trace import Trace
from coterie.replay.trace_events import TraceEvent, Visit
from coterie.runs.ends.end_facts import RunEnd
from coterie.text.durations import duration
from coterie.workflows.core.requests import RequestView
from coterie.workflows.core.views import RunStatus, TeamResult, TrailEntry

_NOTHING_SPENT = Spending(SpendingRow("", "", "", "", "", ""), (), (), ())
_NOTHING_PROVED = Proofs((), (), (), ())


@dataclass(frozen=True, slots=True)
class LongRunFacts:
    """What the page of a long run is made of."""

    run: str
    plan: Plan
    values: Sequence[Effective] | None
    """Of the document that compiles to its plan, if it is here."""
    input: RunInput
    began: datetime
    ended: datetime | None
    now: datetime
    end: RunEnd | None
    """None while it is open."""
    report: Report
    calls: Timeline
    """Those of the page."""
    workspace: Path | None


def long_run_page(facts: LongRunFacts, long: LongRun) -> RunPage:
    """Return the page of a long run."""
    status = _status(facts)
    result = None if facts.end is None else facts.end.result
    state, tone, because = "open", "working", ""
    if status is not None:
        state, tone, because = state_of(facts.end, status)
    elif facts.end is not None:
        state, tone = facts.end.state, "good" if facts.end.completed else "bad"
    seconds = ((facts.ended or facts.now) - facts.began).total_seconds()
    reported = facts.report.state
    entries = () if reported is None else reported.entries
    visits = visits_of(entries)
    shown_status = reported.status if reported is not None else status
    requests: Mapping[str, RequestView] = {}
    if reported is not None and facts.end is None:
        requests = {one.id: RequestView(pending=one) for one in reported.pending}
    context = {} if reported is None else reported.context
    return RunPage(
        run=facts.run,
        plan=outline_of(facts.plan, facts.values),
        state=state,
        tone=tone,
        because=because,
        began=facts.began,
        ended=facts.ended,
        read_at=facts.now,
        facts=tuple(_facts(status, seconds)),
        input=facts.input,
        output=() if facts.end is None else output_of(facts.end),
        graph=team_graph(facts.plan, _walk(facts, because or state, entries, shown_status)),
        timeline=facts.calls,
        visits=visit_cards(Trace(facts.run, tuple(entries), visits)),
        lost="",
        agents=(),
        trees=(),
        context=_context(context if result is None else result.context),
        effects=(),
        spending=_NOTHING_SPENT
        if reported is None
        else spending_of(reported.cost, seconds, is_open=facts.end is None),
        requests=request_cards(requests, (), facts.workspace),
        proofs=_NOTHING_PROVED
        if status is None
        else proofs_of(facts.plan, status, 0 if result is None else len(result.decisions)),
        is_session=bool(message_waits(facts.plan)),
        long=replace(long, entries=0 if status is None else status.events),
    )


def _status(facts: LongRunFacts) -> RunStatus | None:
    """Return the status of a run: of an ended one from its result, which needs no worker."""
    if facts.end is not None and facts.end.result is not None:
        return _status_at_end(facts.plan, facts.end.result)
    return None if facts.report.state is None else facts.report.state.status


def _status_at_end(plan: Plan, result: TeamResult) -> RunStatus:
    return RunStatus(
        plan=result.plan,
        digest=result.digest,
        state="done",
        team=None,
        visit=None,
        teams_run=result.teams_run,
        max_total_teams=plan.limits.max_total_teams,
        visits=result.visits,
        model_calls=result.model_calls,
        function_calls=result.function_calls,
        usage=result.usage,
        cost=result.cost,
        unpriced=result.unpriced,
        estimated=result.estimated,
        last_because=result.because,
        events=result.trail_length,
    )


def _facts(status: RunStatus | None, seconds: float) -> Sequence[RunFact]:
    if status is None:
        return (RunFact("Duration", duration(max(0.0, seconds))),)
    return facts_of(status, seconds, 0)


def _walk(
    facts: LongRunFacts, headline: str, entries: Sequence[TrailEntry], status: RunStatus | None
) -> Walk | None:
    """Return where the run is, and how often it was in each team; not the order of its routes."""
    if status is None:
        return None
    walk = walk_of(facts.run, headline, entries, status, over=facts.end is not None)
    return replace(walk, visits=status.visits, taken={}, redirects={})


def _context(context: Json) -> tuple[ContextRow, ...]:
    leaves = differences({}, context)
    return tuple(ContextRow(leaf.path, shown_brief(leaf.after), ()) for leaf in leaves)


def visits_of(entries: Sequence[TrailEntry]) -> tuple[Visit, ...]:
    """Return the visits of a part of a trail: with reasons, but without the rules that were tried.

    A visit that began before the first entry has no start.
    """
    visits: dict[tuple[str, int], Visit] = {}
    between: list[TraceEvent] = []
    for entry in entries:
        key = (entry.team, entry.visit)
        visit = visits.get(key) or Visit(entry.team, entry.visit)
        match entry.kind:
            case _ if entry.visit == 0:
                between.append(TraceEvent(entry))
                continue
            case "team":
                happened = tuple(between)
                between.clear()
                visit = replace(
                    visit, began=entry.at, came_because=entry.because, happened=happened
                )
            case "route" if visit.ended is None:
                visit = replace(
                    visit,
                    ended=entry.at,
                    status=entry.status,
                    because=entry.because,
                    next_team=entry.next_team,
                )
            case _:
                visit = replace(visit, happened=(*visit.happened, TraceEvent(entry)))
        visits[key] = visit
    return tuple(visits.values())
