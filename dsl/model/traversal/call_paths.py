"""The calls that models may make, by the names that trails, people and tests use.

A run adds turn and number to the last part: `team/task/search@2.1` is a call of `team/task/search`.
"""

from collections.abc import Iterator, Sequence

from coterie.dsl.model.plan import Persona, Plan
from coterie.dsl.model.step_kinds.agent_types import TOOL_CALLING
from coterie.dsl.model.steps import PersonaStep, Step
from coterie.dsl.model.tools.tool_contract import AgentTool
from coterie.dsl.model.traversal.agent_personas import agent_personas
from coterie.dsl.model.traversal.step_paths import inside

_AGENTS_WITHIN_AGENTS = 5


def call_paths(plan: Plan) -> frozenset[str]:
    """Return `team/path/tool` of every tool that some agent's model may call there."""
    return frozenset(
        f"{team.id}/{path}" for team in plan.teams.values() for path in _calls(team.steps, plan, 0)
    )


def called_agents(plan: Plan) -> frozenset[str]:
    """Return the names by which a script may call a turn of a tool: `tool` and `team/tool`."""
    names = {path for path in call_paths(plan) if _is_agent(path.rpartition("/")[2], plan)}
    tools = {path.rpartition("/")[2] for path in names}
    return frozenset(
        tools | {f"{path.partition('/')[0]}/{path.rpartition('/')[2]}" for path in names}
    )


def _is_agent(tool: str, plan: Plan) -> bool:
    return isinstance(plan.tools.get(tool), AgentTool)


def _calls(steps: Sequence[Step], plan: Plan, deep: int) -> Iterator[str]:
    for step in steps:
        if isinstance(step, PersonaStep) and step.agent_type == TOOL_CALLING:
            for _, persona in agent_personas(step, plan.personas):
                yield from (f"{step.name}/{path}" for path in _tools(persona, plan, deep))
        if deep < _AGENTS_WITHIN_AGENTS:
            below = deep + isinstance(step, PersonaStep)
            for prefix, inner in inside(step, plan):
                yield from (f"{step.name}/{prefix}{path}" for path in _calls(inner, plan, below))


def _tools(persona: Persona, plan: Plan, deep: int) -> Iterator[str]:
    """Yield the tools of a persona, and those of the agents that they are made of."""
    for name in persona.tools:
        yield name
        tool = plan.tools.get(name)
        inner = plan.personas.get(tool.agent) if isinstance(tool, AgentTool) else None
        if inner is not None and deep < _AGENTS_WITHIN_AGENTS:
            yield from (f"{name}/{path}" for path in _tools(inner, plan, deep + 1))
