"""Handoffs: where a run goes from a team when the model of one of its agents hands over."""

from collections.abc import Iterator, Sequence

from dsl.model.plan import Plan, Team
from dsl.model.steps import ORCHESTRATING, AgentStep, Step
from dsl.model.traversal.step_lists import followed_plans
from dsl.model.traversal.step_walk import walk


def handoffs(team: Team, plan: Plan) -> Iterator[str]:
    """Yield the teams to which the agents of a team may hand over, each once.

    An agent that another one calls as a tool never hands over.
    """
    yield from dict.fromkeys(_of(team.steps, plan, set()))


def _of(steps: Sequence[Step], plan: Plan, seen: set[str]) -> Iterator[str]:
    for step, _ in walk(steps, ()):
        if isinstance(step, AgentStep) and step.agent_type != ORCHESTRATING:
            for one in step.choices:
                persona = plan.personas.get(one.persona_key or "")
                yield from () if persona is None else persona.handoffs
        for agent, followed in followed_plans(step, plan.personas):
            if agent.persona_key not in seen:
                seen.add(agent.persona_key or "")
                yield from _of(followed, plan, seen)
