"""Format a plan: its teams, their steps, and their routes."""

from collections.abc import Iterator, Sequence

from coterie.dsl.evaluate.condition_text import condition_text, value_text
from coterie.dsl.evaluate.limits import depth_allowed
from coterie.dsl.kinds import kind_of
from coterie.dsl.model.plan import Plan, Routing, Team
from coterie.dsl.model.steps import PersonaStep, Step
from coterie.dsl.model.traversal.agent_personas import execution_plans
from coterie.text.approval_words import approval
from coterie.text.bound_words import number_bound
from coterie.text.lines import text_of
from coterie.text.problems import counted
from coterie.text.step_words import StepWording, bounds, heading, is_left_out

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
        condition = "always" if rule.condition is None else f"when {condition_text(rule.condition)}"
        sets = f"; sets {', '.join(rule.context_updates)}" if rule.context_updates else ""
        yield f"  {number}. -> {rule.next_team or _END}  {condition}{sets}"
    if routing.default is not None or routing.ends_by_default:
        yield f"  else -> {routing.default or _END}"


_WORDS = StepWording(condition=condition_text, value=value_text, agent_class=str)


def step_lines(steps: Sequence[Step], plan: Plan, depth: int) -> Iterator[str]:
    """Yield the steps and their nested steps, two blanks deeper per level."""
    for step in steps:
        condition = "" if step.when is None else f"  when {_WORDS.condition(step.when)}"
        yield f"{'  ' * depth}- {step.name}: {_describe_step(step, plan)}{condition}"
        yield from _execution_plan_lines(step, plan, depth)
        for step_list in step.lists():
            title = heading(step_list.role, _WORDS)
            if title and not is_left_out(step_list):
                yield f"{'  ' * (depth + 1)}{title}"
            yield from step_lines(step_list.steps, plan, depth + (2 if title else 1))


def _execution_plan_lines(step: Step, plan: Plan, depth: int) -> Iterator[str]:
    """Yield the execution plan of an agent; each one below its persona if there are several."""
    for agent, steps in execution_plans(step, plan.personas):
        is_chosen = isinstance(step, PersonaStep) and bool(step.personas)
        if is_chosen:
            yield f"{'  ' * (depth + 1)}as {agent.persona_name}"
        yield from step_lines(steps, plan, depth + (2 if is_chosen else 1))


def _describe_step(step: Step, plan: Plan) -> str:
    parts = [
        *kind_of(step).details(step, plan, _WORDS),
        *filter(None, [approval(step, plan, _WORDS)]),
        *bounds(step, _WORDS),
    ]
    begin = kind_of(step).beginning
    return f"{begin}{', '.join(parts)}".strip()
