"""Approvers: the people who may decide the approvals at and below a step."""

from collections.abc import Iterator, Sequence
from typing import cast

from pydantic import BaseModel

from coterie.dsl.model.decision_terms import DecisionTerms, call_approval
from coterie.dsl.model.plan import Plan, Team
from coterie.dsl.model.steps import PersonaStep, Step, TeamStep
from coterie.dsl.model.traversal.callable_tools import tools_of
from coterie.dsl.model.traversal.step_paths import inside, without_rounds
from coterie.dsl.model.traversal.step_walk import walk
from coterie.dsl.person_names import each_once


def approvers_within(plan: Plan, path: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield `(path, people)` of each approval at or below a step that names who decides.

    Blocks, execution plans and the teams that a team as a step can reach are below it.

    Args:
        plan: the plan.
        path: `team/path`, maybe with the numbers of a loop's concurrent rounds.
    """
    team, *names = without_rounds(path).split("/")
    steps = plan.teams[team].steps if team in plan.teams else ()
    queue = list(_steps_at(team, steps, names, plan))
    seen_names: set[str] = set()
    for at, step in queue:
        for terms in _decision_terms(step, plan):
            if terms.approvers:
                yield at, people(plan, terms.approvers)
        for inner_path, inner in _below(at, step, plan, seen_names):
            queue.extend((f"{inner_path}/{child.name}", child) for child in inner)


def people(plan: Plan, names: tuple[str, ...]) -> tuple[str, ...]:
    """Replace groups by their members, each person once.

    An empty group stays as a name: without it, anyone could decide.
    """
    return each_once(member for name in names for member in plan.groups.get(name) or (name,))


def all_people(plan: Plan) -> tuple[str, ...]:
    """Return everybody and every group that a plan names, each spelling once."""
    approvers = (
        name
        for terms in _terms_in(plan)
        for name in (
            *terms.approvers,
            *(person for further in terms.escalate for person in further.to),
        )
    )
    members = (name for group in plan.groups.values() for name in group)
    return tuple(dict.fromkeys((*approvers, *plan.groups, *members)))


def _terms_in(value: object) -> Iterator[DecisionTerms]:
    """Yield the terms of every decision within a value of a plan, wherever they stand."""
    match value:
        case BaseModel():
            if isinstance(value, DecisionTerms):
                yield value
            for field in type(value).model_fields:
                yield from _terms_in(getattr(value, field))
        case tuple() | list():
            for item in cast("Sequence[object]", value):
                yield from _terms_in(item)
        case dict():
            for item in cast("dict[str, object]", value).values():
                yield from _terms_in(item)
        case _:
            return


def _steps_at(
    above: str, steps: Sequence[Step], names: Sequence[str], plan: Plan
) -> Iterator[tuple[str, Step]]:
    """Return the steps at that path; several if branches have steps of one name."""
    name, *rest = names or ("",)
    for step in steps:
        if step.name != name:
            continue
        at = f"{above}/{name}"
        if not rest:
            yield at, step
            continue
        for prefix, inner in inside(step, plan):
            branch = prefix.removesuffix("/")
            if not branch:
                yield from _steps_at(at, inner, rest, plan)
            elif branch == rest[0]:
                here = f"{at}/{branch}"
                if rest[1:]:
                    yield from _steps_at(here, inner, rest[1:], plan)
                else:
                    yield from ((f"{here}/{child.name}", child) for child in inner)


def _below(
    at: str, step: Step, plan: Plan, seen_names: set[str]
) -> Iterator[tuple[str, Sequence[Step]]]:
    """Yield the lists of steps directly below a step, each with its path."""
    match step:
        case PersonaStep():
            named = {f"persona {choice.persona_key}" for choice in step.choices}
            if named <= seen_names:
                return
            seen_names |= named
        case TeamStep(team=first):
            for team in _reachable_teams(first, plan):
                if f"team {team}" not in seen_names:
                    seen_names.add(f"team {team}")
                    yield team, plan.teams[team].steps
            return
        case _:
            pass
    for prefix, inner in inside(step, plan):
        yield f"{at}/{prefix}".removesuffix("/"), inner


def _decision_terms(step: Step, plan: Plan) -> Iterator[DecisionTerms]:
    """Return the terms with which a step asks, also for the tools that it may call."""
    terms = step.asks
    if terms is not None:
        yield terms
    for _, tool in tools_of(step, plan):
        approval = call_approval(tool.requires_approval)
        if approval is not None:
            yield approval


def _reachable_teams(first: str, plan: Plan) -> Iterator[str]:
    """Yield the team, and every team that its routes can reach."""
    names = [first]
    for name in names:
        team = plan.teams.get(name)
        if team is not None:
            yield name
            names.extend(next_name for next_name in _next(team, plan) if next_name not in names)


def _next(team: Team, plan: Plan) -> Iterator[str]:
    for step, _ in walk(team.steps, ()):
        for terms in _decision_terms(step, plan):
            if terms.timeout_team is not None:
                yield terms.timeout_team
    if team.routing is None:
        return
    for rule in team.routing.rules:
        named = (rule.next_team,) if isinstance(rule.next_team, str) else rule.next_team
        yield from (name for name in (*(named or ()), rule.concentrator) if name is not None)
    if team.routing.default is not None:
        yield team.routing.default
