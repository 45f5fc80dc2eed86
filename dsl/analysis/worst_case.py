"""The worst case of a run under its limits: visits, calls, approvals, tokens and cost.

An upper bound, never an estimate: the larger of each choice, the whole of each limit, every
branch of a fan-out, and every re-ask of an answer, each as long as `max_tokens` allows. The
length of a prompt is unknown before the run, so it is an assumption and reported as one. Attempts
that a provider refused or never answered do not count: they give no answer.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from coterie.dsl.analysis.findings import Analysis
from coterie.dsl.analysis.labels.grant_paths import GrantPaths
from coterie.dsl.analysis.routes.visits_of_teams import RoutesBound
from coterie.dsl.analysis.sessions.message_costs import MessageBounds, message_bounds
from coterie.dsl.analysis.worst_case_of_models import Terms
from coterie.dsl.analysis.worst_case_of_steps import Loads, Unbounded
from coterie.dsl.analysis.worst_case_sums import (
    APPROVALS,
    COST,
    FUNCTION_CALLS,
    MODEL_CALLS,
    OUTPUT_TOKENS,
    Key,
    Load,
    added,
    numbers_by_name,
    times,
)
from coterie.dsl.compile.compiler import Compiled
from coterie.dsl.hooks.hook_costs import function_calls
from coterie.dsl.model.plan import Plan


@dataclass(frozen=True, slots=True)
class Figures:
    """The maximum of each count; infinite where the document sets no bound."""

    visits: int
    model_calls: float
    function_calls: float
    approvals: float
    output_tokens: float
    cost: float
    """US dollars, of the priced models alone."""
    unpriced: tuple[str, ...] = ()
    """The models whose calls the cost leaves out."""


@dataclass(frozen=True, slots=True)
class WorstCase:
    """The worst case of one document."""

    total: Figures
    teams: Mapping[str, Figures]
    """All visits of each team that a run can come to; together they may be more than the run's
    limits allow."""
    models: Mapping[str, float]
    """`{"provider/model": the most calls}`."""
    unbounded: tuple[Unbounded, ...]
    terms: Terms
    message: Figures | None = None
    """In a session: from one message to the next. `teams` are then of one message too, and the
    total is that of as many messages as the session may have."""


def worst_case(compiled: Compiled, analysis: Analysis, terms: Terms) -> WorstCase:
    """Compute the worst case of a compiled document.

    Args:
        compiled: The document.
        analysis: The results of its analysis.
        terms: Prices, and the assumed length of a prompt.
    """
    graph = analysis.graph
    grants = GrantPaths(compiled.plan, graph, analysis.bodies)
    loads = Loads(compiled.plan, analysis.bodies, compiled.tree, terms, grants)
    teams = {
        team: loads.team(analysis.bodies.teams[team])
        for team in graph.plan.teams
        if team in graph.reached
    }
    calls = {team: numbers_by_name(load, "team") for team, load in teams.items()}
    session = message_bounds(graph, analysis.bodies, loads)
    if session is not None:
        return _of_session(session, loads, terms)
    routes = RoutesBound(graph, calls)
    models = _models(teams.values())
    total = added((_load_of_routes(routes, teams, models), _of_run(compiled.plan)))
    return WorstCase(
        total=_figures(routes.total, total, terms),
        teams={
            team: _figures(routes.visits[team], times(load, routes.visits[team]), terms)
            for team, load in teams.items()
        },
        models={model: total[("model", model)] for model in models},
        unbounded=tuple(loads.unbounded.values()),
        terms=terms,
    )


def _load_of_routes(routes: RoutesBound, teams: Mapping[str, Load], models: Iterable[str]) -> Load:
    """Return the most of each measure, and of the calls of each model, on any path of a run."""

    def maximum(key: Key) -> float:
        return routes.bound(lambda team: teams[team].get(key, 0.0))

    keys: list[Key] = [*_MEASURES, *(("model", model) for model in models)]
    return {key: maximum(key) for key in keys}


def _of_run(plan: Plan) -> Load:
    """Return the load of the hooks of the whole run."""
    checks = function_calls(plan.hooks, "before_run", "after_run")
    return {FUNCTION_CALLS: checks} if checks else {}


def _of_session(session: MessageBounds, loads: Loads, terms: Terms) -> WorstCase:
    """Compute the worst case of a session: of one message, and of all that it may have."""
    each, first, messages = session.each, session.first, session.messages
    total = added((first.load, times(each.load, messages), _of_run(loads.plan)))
    return WorstCase(
        total=_figures(first.visits + messages * each.visits, total, terms),
        teams={team: _figures(visits, load, terms) for team, (visits, load) in each.teams.items()},
        models={model: total[("model", model)] for model in _models((total,))},
        unbounded=tuple(loads.unbounded.values()),
        terms=terms,
        message=_figures(each.visits, each.load, terms),
    )


_MEASURES = (MODEL_CALLS, FUNCTION_CALLS, APPROVALS, OUTPUT_TOKENS, COST)


def _models(loads: Iterable[Load]) -> list[str]:
    return list(dict.fromkeys(m for load in loads for m in numbers_by_name(load, "model")))


def _figures(visits: int, load: Load, terms: Terms) -> Figures:
    models = [model for model, calls in numbers_by_name(load, "model").items() if calls]
    return Figures(
        visits,
        load.get(MODEL_CALLS, 0),
        load.get(FUNCTION_CALLS, 0),
        load.get(APPROVALS, 0),
        load.get(OUTPUT_TOKENS, 0),
        load.get(COST, 0.0),
        tuple(model for model in models if model not in terms.prices),
    )


def bounded(value: float) -> bool:
    """Return whether the document sets any bound."""
    return math.isfinite(value)
