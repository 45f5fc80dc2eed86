"""The start of a run: its plan is checked for consistency before the run trusts it.

Anyone who can start a workflow can send a plan. This module refuses what no compiler of ours
produces and what would keep the interpreter from ever ending.
"""

from collections.abc import Sequence

from coterie.dsl.errors import InvalidContext, InvalidPlan, RunRefused
from coterie.dsl.evaluate.context import lacking_context
from coterie.dsl.evaluate.declared_values import started
from coterie.dsl.look_alikes import look_alikes
from coterie.dsl.model.plan import Plan
from coterie.dsl.model.steps import PersonaStep, Step, TeamStep
from coterie.dsl.model.traversal.approvers import all_people
from coterie.dsl.model.traversal.step_bounds import bounds_of
from coterie.dsl.model.traversal.step_walk import lists_of_plan, walk
from coterie.dsl.values import Json
from coterie.dsl.visible import visible_name
from coterie.workflows.core.state import RunState
from coterie.workflows.handlers.run_users import user_of_run

_MAX_DEPTH = 40
"""Maximum nesting of blocks; a document of ours has at most a hundred levels, three a block."""


def begin(plan: Plan, state: RunState, starter: str | None = None) -> None:
    """Put a fresh run at its entry team.

    Args:
        plan: of the run.
        state: fresh, with the context as given.
        starter: who started it, if somebody verified that.

    Raises:
        InvalidPlan: the plan names something that is not in it, would never end, or has approvers
            that look alike.
        RunRefused: the context lacks what the plan needs, or does not fit what it declares.
    """
    for team_id in (plan.entry_team, *_next_teams(plan)):
        if team_id not in plan.teams:
            raise InvalidPlan(f"the plan has no team {team_id!r}")
    for team in plan.teams.values():
        if not plan.context.keys() >= set(team.resets):
            raise InvalidPlan(f"the team {team.id!r} resets paths that the plan does not declare")
        if team.max_visits is not None and isinstance(team.max_visits.limit, str):
            raise InvalidPlan(f"`max_visits` of the team {team.id!r} has no maximum")
    ending: set[str] = set()
    for key in plan.personas:
        _refuse_cycle(key, plan, (), ending)
    for steps in lists_of_plan(plan):
        _check_steps(steps, plan, 1)
    for first, second in look_alikes(all_people(plan)):
        raise InvalidPlan(
            f"the approvers {visible_name(first)!r} and {visible_name(second)!r} look alike"
        )
    state.main.context = _context_at_start(plan, state.main.context)
    state.user = user_of_run(plan.user, state.main.context, starter)
    state.main.team = plan.entry_team


def _context_at_start(plan: Plan, start_context: Json) -> Json:
    """Return the context with the defaults of what the plan declares.

    Raises:
        RunRefused: it lacks what the plan needs, or does not fit what it declares.
    """
    context = start_context
    if plan.context:
        try:
            context = started(start_context, plan.context)
        except InvalidContext as error:
            raise RunRefused(str(error)) from None
    if plan.needs:
        lacking = lacking_context(plan.needs, context)
        if lacking is not None:
            raise RunRefused(lacking)
    return context


def _check_steps(steps: Sequence[Step], plan: Plan, depth: int) -> None:
    if depth > _MAX_DEPTH:
        raise InvalidPlan(f"the plan has blocks nested more than {_MAX_DEPTH} deep")
    for step in steps:
        _check(step, plan)
        for inner in step.lists():
            _check_steps(inner.steps, plan, depth + 1)


def _check(step: Step, plan: Plan) -> None:
    for key, bound in bounds_of(step):
        if isinstance(bound, str):
            raise InvalidPlan(f"`{key.name}` of {step.name!r} has no maximum")
    match step:
        case PersonaStep() if {
            choice.persona_key for choice in step.choices
        } - plan.personas.keys():
            raise InvalidPlan(f"step {step.name!r} names a persona that the plan has not")
        case TeamStep(team=team) if team not in plan.teams:
            raise InvalidPlan(f"step {step.name!r} names a team that the plan has not")
        case _:
            pass
    if step.lacks_bound is not None:
        kind = step.kind.replace("_", " ")
        raise InvalidPlan(f"the {kind} {step.name!r} has no bound: it needs `{step.lacks_bound}`")


def _refuse_cycle(key: str, plan: Plan, above: tuple[str, ...], ending: set[str]) -> None:
    """Refuse a persona whose plan leads back to it; `ending` are those known not to."""
    if key in above or len(above) > _MAX_DEPTH:
        raise InvalidPlan(f"the execution plan of {key!r} contains itself, or is without end")
    for step, _ in walk(plan.personas[key].execution_plan or (), ()):
        for choice in step.choices if isinstance(step, PersonaStep) else ():
            if choice.persona_key in plan.personas and choice.persona_key not in ending:
                _refuse_cycle(choice.persona_key, plan, (*above, key), ending)
    ending.add(key)


def _next_teams(plan: Plan) -> list[str]:
    named: list[str] = [] if plan.on_cancel is None else [plan.on_cancel]
    for team in plan.teams.values():
        named += [] if team.on_cancel is None else [team.on_cancel]
        if team.routing is None:
            continue
        for rule in team.routing.rules:
            following = rule.next_team
            named += following if isinstance(following, tuple) else [following] if following else []
            named += [rule.concentrator] if rule.concentrator else []
        named += [team.routing.default] if team.routing.default is not None else []
    return named + [budget.next_team for budget in plan.budgets if budget.next_team is not None]
