"""Timeout routes: where a run goes from a team when nobody decides in time."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from coterie.dsl.model.plan import Plan, Team
from coterie.dsl.model.steps import AgentStep, Step
from coterie.dsl.model.template_bound import maximum_of
from coterie.dsl.model.terms import DecisionTerms, call_approval
from coterie.dsl.model.traversal.agent_personas import execution_plans
from coterie.dsl.model.traversal.callable_tools import step_of_tool, tools_of
from coterie.dsl.model.traversal.step_walk import walk


class TimeoutRoute(NamedTuple):
    """An exit of a team that no rule takes."""

    step: str
    """The step that asks."""
    after: float
    """Seconds that people have to decide, at most."""
    target: str
    """The team that comes next."""
    task: str
    """The team's own step that asks, or contains the one that does."""


def timeout_routes(team: Team, plan: Plan) -> Iterator[TimeoutRoute]:
    """List every timeout route of a team, with those of plans and of agents as tools."""
    for step in team.steps:
        yield from _of([step], plan, step.name, set())


def _of(steps: Sequence[Step], plan: Plan, task: str, seen: set[str]) -> Iterator[TimeoutRoute]:
    for step, _ in walk(steps, ()):
        for terms in _terms(step, plan):
            if terms.deadline is not None and terms.timeout_team is not None:
                yield TimeoutRoute(step.name, maximum_of(terms.deadline), terms.timeout_team, task)
        for key, inner in _lists_below_call(step, plan):
            if key not in seen:
                seen.add(key)
                yield from _of(inner, plan, task, seen)


def _lists_below_call(step: Step, plan: Plan) -> Iterator[tuple[str, Sequence[Step]]]:
    """Yield the plans and the agents that run within a step, each with a name of its own.

    A team that a tool runs has routes of its own.
    """
    for agent, followed in execution_plans(step, plan.personas):
        yield f"plan {agent.persona_key}", followed
    for name, tool in tools_of(step, plan):
        called = step_of_tool(name, tool, plan)
        if isinstance(called, AgentStep):
            yield f"tool {name}", [called]


def _terms(step: Step, plan: Plan) -> Iterator[DecisionTerms]:
    own = step.asks
    if own is not None:
        yield own
    for _, tool in tools_of(step, plan):
        terms = call_approval(tool.requires_approval)
        if terms is not None:
            yield terms
