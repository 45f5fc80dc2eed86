"""Timeout routes: where a run goes from a team when nobody decides in time."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from coterie.dsl.model.decision_terms import DecisionTerms, call_approval
from coterie.dsl.model.plan import Plan, Team
from coterie.dsl.model.steps import PersonaStep, Step
from coterie.dsl.model.template_bound import maximum_of
from coterie.dsl.model.traversal.agent_personas import execution_plans
from coterie.dsl.model.traversal.callable_tools import caller_key, step_of_tool, tools_of
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
    calls = _Calls(plan)
    for step in team.steps:
        yield from _of([step], calls, step.name, set())


class _Call(NamedTuple):
    """What runs within a step that calls, and how its calls ask people."""

    within: tuple[tuple[str, Sequence[Step]], ...] = ()
    """The plans and the agents that run within it, each with a name of its own."""
    routed: Sequence[DecisionTerms] = ()
    """Those of its tools that lead to a team when nobody decides, of equal ones the first."""


@dataclass(slots=True)
class _Calls:
    plan: Plan
    _known: dict[tuple[str, ...], _Call] = field(
        default_factory=lambda: dict[tuple[str, ...], _Call]({(): _Call()})
    )

    def of(self, step: Step) -> _Call:
        """Return what a step calls; a team that a tool runs has routes of its own."""
        key = caller_key(step)
        if key not in self._known:
            self._known[key] = _Call(tuple(self._within(step)), self._route_terms(step))
        return self._known[key]

    def _within(self, step: Step) -> Iterator[tuple[str, Sequence[Step]]]:
        for agent, followed in execution_plans(step, self.plan.personas):
            yield f"plan {agent.persona_key}", followed
        for name, tool in tools_of(step, self.plan):
            callee = step_of_tool(name, tool, self.plan)
            if isinstance(callee, PersonaStep) and self._calls_on(callee):
                yield f"tool {name}", [callee]

    def _calls_on(self, step: PersonaStep) -> bool:
        """Return whether an agent that is a tool, which never asks itself, calls anything."""
        followed = execution_plans(step, self.plan.personas)
        return any(steps for _, steps in followed) or any(tools_of(step, self.plan))

    def _route_terms(self, step: Step) -> Sequence[DecisionTerms]:
        terms_by_route: dict[tuple[float, str], DecisionTerms] = {}
        for _, tool in tools_of(step, self.plan):
            terms = call_approval(tool.requires_approval)
            team = None if terms is None else terms.timeout_team
            if terms is not None and terms.deadline is not None and team is not None:
                terms_by_route.setdefault((maximum_of(terms.deadline), team), terms)
        return tuple(terms_by_route.values())


def _of(
    steps: Sequence[Step], calls: _Calls, task: str, seen_keys: set[str]
) -> Iterator[TimeoutRoute]:
    for step, _ in walk(steps, ()):
        own, call = step.asks, calls.of(step)
        for terms in call.routed if own is None else (own, *call.routed):
            if terms.deadline is not None and terms.timeout_team is not None:
                yield TimeoutRoute(step.name, maximum_of(terms.deadline), terms.timeout_team, task)
        for key, inner in call.within:
            if key not in seen_keys:
                seen_keys.add(key)
                yield from _of(inner, calls, task, seen_keys)
