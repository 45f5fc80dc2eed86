"""The tools that a step may call: by name, by a template, or by its agent's model."""

from collections.abc import Iterator, Mapping

from coterie.dsl.model.plan import Persona, Plan
from coterie.dsl.model.step_kinds.agent_types import ORCHESTRATING, SINGLE_SHOT, default_agent_type
from coterie.dsl.model.steps import PersonaStep, Step, TeamStep
from coterie.dsl.model.steps import ToolStep as CallStep
from coterie.dsl.model.tools.tool_contract import AgentTool, TeamTool, Tool
from coterie.dsl.model.traversal.agent_personas import agent_personas
from coterie.dsl.values import Json


def tools_of(step: Step, plan: Plan) -> Iterator[tuple[str, Tool]]:
    """Yield the tools that a step may call itself, each with its name.

    A template may choose any tool. The tools of tools are not among them.
    """
    match step:
        case CallStep(tool=name):
            if name in plan.tools:
                yield name, plan.tools[name]
            else:  # a template
                yield from plan.tools.items()
        case PersonaStep(agent_type=agent_type) if agent_type not in (ORCHESTRATING, SINGLE_SHOT):
            personas = agent_personas(step, plan.personas)
            offered = (name for _, persona in personas for name in persona.tools)
            for name in dict.fromkeys(offered):
                if name in plan.tools:
                    yield name, plan.tools[name]
        case _:
            return


def caller_key(step: Step) -> tuple[str, ...]:
    """Return a key of what a step may call: tools and plans; empty if it calls neither.

    Thousands of steps may have one persona with thousands of tools: look at each key once.
    """
    match step:
        case CallStep(tool=name):
            return ("tool", name)
        case PersonaStep(agent_type=agent_type):
            return ("agent", agent_type or "", step.persona_key, *step.personas)
        case _:
            return ()


def step_of_tool(name: str, tool: Tool, plan: Plan) -> Step | None:
    """Return a step that does what a call of this agent or team does; None for other tools."""
    if isinstance(tool, TeamTool):
        return TeamStep(kind="team", name=name, team=tool.team)
    if not isinstance(tool, AgentTool):
        return None
    persona = plan.personas.get(tool.agent)
    if persona is None:
        return None
    agent_type = agent_type_of(persona)
    return PersonaStep(
        name=name, agent_type=agent_type, persona_key=tool.agent, input=_argument_names(tool)
    )


def agent_type_of(persona: Persona) -> str:
    """Return the type of the agent that a tool is made of: the default of its persona."""
    return default_agent_type(
        has_plan=persona.execution_plan is not None,
        offers_tools=bool(persona.tools or persona.handoffs),
    )


def _argument_names(tool: Tool) -> Json:
    """Return the names of a call's arguments, without values."""
    properties: object = (tool.input_schema or {}).get("properties")
    names = properties if isinstance(properties, Mapping) else {}
    return dict.fromkeys((*(str(name) for name in names), *tool.fixed), None)
