"""Model the picture of a plan before rendering: boxes, their content, arrows.

Mermaid and SVG render the same picture, so they never disagree.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from coterie.dsl.analysis.context_use import ContextUsers, users_of_plan
from coterie.dsl.analysis.routes.timeout_routes import timeout_routes
from coterie.dsl.compile.route_compiler import targets
from coterie.dsl.evaluate.limits import depth_allowed
from coterie.dsl.model.budgets import Budget, number, unit
from coterie.dsl.model.plan import Collect, Plan, Routing, Rule, Team
from coterie.graph.condition_labels import condition_words
from coterie.graph.task_lines import TaskLine, called_teams, task_lines, value_words
from coterie.text.bound_words import counted_bound, number_bound
from coterie.text.durations import duration
from coterie.text.problems import counted

TeamType = Literal["standard", "loop", "approval", "concentrator", "chat"]
RouteKind = Literal["rule", "default", "end", "call", "timeout", "bound", "redirect"]
RouteKey = tuple[str, int | str | None] | tuple[str, Literal["redirect"], str]
_MAX_PATHS = 6
"""Context paths that a box lists."""
START = ""
"""Stands for the start of the run, before the first team."""
Ending = Literal["success", "failure"]


@dataclass(frozen=True, slots=True)
class TeamBox:
    """One team, with the content of its box."""

    id: str
    name: str
    type: TeamType
    limits: tuple[str, ...]
    """The limits of this team, as text."""
    tasks: tuple[TaskLine, ...]


@dataclass(frozen=True, slots=True)
class RouteArrow:
    """A route out of a team: one arrow, or several from one point for a fan-out."""

    team: str
    number: int | None
    """The rule's number, from 1; None if the route is not a rule."""
    kind: RouteKind
    targets: tuple[str, ...]
    """Target teams; empty when the run ends."""
    words: tuple[str, ...]
    """What must hold, part by part."""
    ending: Ending | None = None
    """How the run ends, if it does."""
    updates: tuple[str, ...] = ()
    """The context paths that it changes."""
    meets: str | None = None
    """The concentrator of a fan-out."""
    found: tuple[str, ...] = ()
    """What a run found when it last examined the rule; only where a page shows it."""

    @property
    def key(self) -> RouteKey:
        """Identifies the route among all that a run can take."""
        if self.kind == "redirect":
            return self.team, "redirect", self.targets[0]
        return self.team, self.targets[0] if self.kind in ("timeout", "bound") else self.number


@dataclass(frozen=True, slots=True)
class Picture:
    """A whole plan."""

    name: str
    digest: str
    limits: tuple[str, ...]
    """The limits of a run, as text."""
    entry: str
    boxes: tuple[TeamBox, ...]
    routes: tuple[RouteArrow, ...]


def picture(plan: Plan) -> Picture:
    """Build the picture of a plan, with teams in document order."""
    limits = plan.limits
    run_limits = [
        f"at most {counted(limits.max_total_teams, 'team visit')}",
        f"{limits.max_recursion_depth} of any one team",
    ]
    if limits.no_progress != "ignore":
        run_limits.append(f"no progress: {limits.no_progress}")
    if plan.on_cancel is not None:
        run_limits.append(f"when cancelled: {plan.on_cancel}")
    users = users_of_plan(plan)
    run_limits += (_bound(budget) for budget in plan.budgets if budget.scope != "team")
    return Picture(
        name=plan.name,
        digest=plan.digest,
        limits=tuple(run_limits),
        entry=plan.entry_team,
        boxes=tuple(_box(team, plan, users) for team in plan.teams.values()),
        routes=tuple(route for team in plan.teams.values() for route in _routes(team, plan)),
    )


def _box(team: Team, plan: Plan, users: Mapping[str, ContextUsers]) -> TeamBox:
    limits: list[str] = []
    depth = depth_allowed(plan.limits, team)
    own = team.max_recursion_depth if team.max_visits is not None else depth
    if own not in (None, plan.limits.max_recursion_depth):
        limits.append(f"at most {counted(depth, 'visit')}")
    if team.max_visits is not None:
        maximum = number_bound(team.max_visits.limit, value_words)
        limits.append(f"at most {maximum} per visit of {team.max_visits.per}")
    if team.collects is not None:
        limits += _collecting(team.collects)
    if not team.stop_on_failure:
        limits.append("continues after a failed task")
    if team.on_cancel is not None:
        limits.append(f"when cancelled: {team.on_cancel}")
    limits += (
        _bound(budget)
        for budget in plan.budgets
        if budget.scope == "team" and budget.name == team.id
    )
    limits += _used_paths(team.id, users)
    return TeamBox(
        id=team.id,
        name=team.name or team.id,
        type=_type(team),
        limits=tuple(limits),
        tasks=tuple(task_lines(team.steps, plan)),
    )


def _used_paths(team: str, users: Mapping[str, ContextUsers]) -> Iterator[str]:
    """List the declared context paths that a team reads, writes and resets."""
    uses = (
        ("reads", [path for path, path_users in users.items() if team in path_users.readers]),
        ("writes", [path for path, path_users in users.items() if team in path_users.writers]),
        ("resets", [path for path, path_users in users.items() if team in path_users.resetters]),
    )
    for verb, paths in uses:
        names = [
            *paths[:_MAX_PATHS],
            *([f"{len(paths) - _MAX_PATHS} more"] * (len(paths) > _MAX_PATHS)),
        ]
        if names:
            yield f"{verb} {', '.join(names)}"


def _bound(budget: Budget) -> str:
    """Format a budget: `100 tokens, then wrap_up`; name its persona or task."""
    whose = f"{budget.owner}: " if budget.scope in ("persona", "task") else ""
    kind = {"model_calls": "model ", "tool_calls": "tool "}.get(budget.kind, "")
    many, counted_in = number(budget.kind, budget.limit), unit(budget.kind, budget.limit)
    work = " of work" if budget.kind == "working_time" else ""
    then = budget.next_team or budget.on_exceeded
    return f"{whose}{many} {kind}{counted_in}{work}, then {then}"


def _type(team: Team) -> TeamType:
    """Derive the team's type from the steps that it is short for."""
    if team.collects is not None:
        return "concentrator"
    match [(step.kind, step.name) for step in team.steps]:
        case [("loop", "loop")]:
            return "loop"
        case [*_, ("approval", "approval")]:
            return "approval"
        case [("wait", "message"), *_, ("reply", "reply")] if team.steps[0].takes_message:
            return "chat"
        case _:
            return "standard"


def _collecting(collects: Collect) -> Iterator[str]:
    """Describe when a concentrator continues, and how it joins the branches."""
    if collects.count is None:
        parts = ["all branches ended"]
    else:
        parts = [f"{collects.count} of the branches succeeded"]
    if collects.timeout is not None:
        parts.append(f"{duration(collects.timeout)} passed")
    if collects.signal is not None:
        parts.append(f"the signal {collects.signal} came")
    yield f"until {' or '.join(parts)}"
    yield f"aggregate: {collects.aggregate}"


def _routes(team: Team, plan: Plan) -> Iterator[RouteArrow]:
    if team.routing is None:
        yield RouteArrow(team.id, None, "end", (), (), ending="success")
    else:
        for number, rule in enumerate(team.routing.rules, 1):
            yield _rule(team, rule, number)
        yield from _otherwise(team, team.routing)
    yield from _timeouts(team, plan)
    if team.max_visits is not None:
        bound = team.max_visits
        maximum = counted_bound(bound.limit, "visit", value_words)
        words = (f"instead, after {maximum} per visit of {bound.per}",)
        yield RouteArrow(team.id, None, "bound", (bound.then,), words)
    for target in called_teams(team.steps):
        yield RouteArrow(team.id, None, "call", (target,), ("runs as a step",))


def _timeouts(team: Team, plan: Plan) -> Iterator[RouteArrow]:
    """Yield the timeout routes of approvals, one per target team."""
    parts_by_target: dict[str, list[str]] = {}
    for route in timeout_routes(team, plan):
        parts_by_target.setdefault(route.target, []).append(
            f"{route.step} within {duration(route.after)}"
        )
    for target, parts in parts_by_target.items():
        words = f"nobody decides {' or '.join(parts)}"
        yield RouteArrow(team.id, None, "timeout", (target,), (words,))


def _rule(team: Team, rule: Rule, number: int) -> RouteArrow:
    following = targets(rule.next_team)
    return RouteArrow(
        team=team.id,
        number=number,
        kind="rule",
        targets=following,
        words=condition_words(rule.condition),
        ending=None if following else "success",
        updates=tuple(rule.context_updates),
        meets=rule.concentrator,
    )


def _otherwise(team: Team, routing: Routing) -> Iterator[RouteArrow]:
    """Yield the default route, unless one of the rules always holds."""
    if routing.default is not None:
        yield RouteArrow(team.id, None, "default", (routing.default,), ("otherwise",))
    elif any(rule.condition is None for rule in routing.rules):
        return
    elif routing.ends_by_default or not routing.rules:
        yield RouteArrow(team.id, None, "default", (), ("otherwise",), ending="success")
    else:
        yield RouteArrow(team.id, None, "default", (), ("otherwise",), ending="failure")
