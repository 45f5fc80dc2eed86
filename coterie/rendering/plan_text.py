"""Format a plan: its teams, their steps, and their routes."""

from collections.abc import Iterator

from coterie.dsl.evaluate.condition_text import condition_text, value_text
from coterie.dsl.evaluate.limits import depth_allowed
from coterie.dsl.model.plan import Plan, Routing, Team
from coterie.rendering.steps_text import step_lines
from coterie.text.bound_words import number_bound
from coterie.text.lines import text_of
from coterie.text.problems import counted

_END = "the end"


def plan_text(plan: Plan) -> str:
    """Format the whole plan, teams in document order."""
    limits = plan.limits
    head = [
        f"{plan.name}  (digest {plan.digest})",
        f"starts at {plan.entry_team}; at most {counted(limits.max_total_teams, 'team visit')}, "
        f"{limits.max_recursion_depth} of any one team; no progress: {limits.no_progress}",
    ]
    if plan.on_cancel is not None:
        head.append(f"when cancelled: {plan.on_cancel}, at most {limits.cancel_timeout:g} s")
    for budget in plan.budgets:
        then = budget.next_team or budget.on_exceeded
        head.append(f"{budget.description}: {budget.amount(budget.limit)}, then: {then}")
    return text_of(head + [line for team in plan.teams.values() for line in _team(team, plan)])


def _team(team: Team, plan: Plan) -> Iterator[str]:
    name = "" if team.name in ("", team.id) else f"  {team.name}"
    depth = depth_allowed(plan.limits, team)
    common = plan.limits.max_recursion_depth if team.max_visits is None else depth
    limit = "" if depth == common else f"  (at most {depth} visits)"
    if team.max_visits is not None:
        bound = team.max_visits
        maximum = number_bound(bound.limit, value_text)
        limit += f"  (at most {maximum} per visit of {bound.per}, then {bound.then})"
    yield ""
    yield f"{team.id}{name}{limit}"
    yield from step_lines(team.steps, plan, 1)
    yield from _routing(team.routing)
    if team.on_cancel is not None:
        yield f"  when cancelled -> {team.on_cancel}"


def _routing(routing: Routing | None) -> Iterator[str]:
    if routing is None:
        yield f"  -> {_END}"
        return
    for number, rule in enumerate(routing.rules, 1):
        asked = "always" if rule.condition is None else f"when {condition_text(rule.condition)}"
        sets = f"; sets {', '.join(rule.context_updates)}" if rule.context_updates else ""
        yield f"  {number}. -> {rule.next_team or _END}  {asked}{sets}"
    if routing.default is not None or routing.ends_by_default:
        yield f"  else -> {routing.default or _END}"
