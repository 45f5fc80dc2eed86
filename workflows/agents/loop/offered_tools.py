"""What a model sees of its tools, and the arguments that they get for the ones it gave."""

from collections.abc import Iterable, Sequence

from coterie.activities.contracts import AgentResponse
from coterie.dsl.json_schema.offered_schema import own_arguments
from coterie.dsl.model.agent_skills import SKILL_FUNCTION
from coterie.dsl.model.plan import Persona, Plan
from coterie.dsl.model.tools.tool_contract import Tool
from coterie.dsl.model.tools.tool_use import NamedTool
from coterie.dsl.model.traversal.code_mode import code_mode_of, direct_tools
from coterie.dsl.tool_loop.call_names import handoff_name
from coterie.dsl.tool_loop.code_functions import code_description
from coterie.dsl.tool_loop.exchange import OfferedTool, ToolCallRequest
from coterie.dsl.tool_loop.skill_texts import narrowed
from coterie.dsl.tool_loop.tool_loop_progress import OpenCall
from coterie.dsl.tool_loop.tool_loop_terms import LoopTerms
from coterie.dsl.tool_loop.tool_search import (
    ANY_OBJECT,
    constant_tools,
    found_call,
    offered_tool,
)
from coterie.dsl.values import Json

_HANDOFF: Json = {
    "type": "object",
    "properties": {"reason": {"type": "string", "description": "Why, in one sentence."}},
    "additionalProperties": False,
}


def loop_terms(plan: Plan, persona: Persona, max_turns: int, *, may_hand_over: bool) -> LoopTerms:
    """Return how an agent of the persona uses its tools.

    Args:
        plan: of the run.
        persona: of the agent.
        max_turns: of its task, or the persona's.
        may_hand_over: whether its handoffs are offered: not while another agent waits for it.
    """
    choice = persona.tool_choice
    chosen = choice.tool if isinstance(choice, NamedTool) else None
    code = code_mode_of(persona, plan.tools)
    by_code = () if code is None else tuple(code.functions.values())
    return LoopTerms(
        tools=_schemas(plan, persona, direct_tools(persona, plan.tools)),
        code=code,
        by_code=_schemas(plan, persona, by_code),
        deferred=persona.deferred_tools,
        handoffs=_handoffs(persona) if may_hand_over else {},
        max_turns=max_turns,
        choice="auto" if isinstance(choice, NamedTool) else choice,
        chosen=chosen,
        returns=persona.tool_calls == "return",
        policies=persona.tool_policy,
        max_reasks=persona.max_reasks,
    )


def _arguments(tool: Tool, persona: Persona) -> Json:
    """Return the schema of a tool's arguments; a persona reads its own agent skills only."""
    schema = tool.input_schema or ANY_OBJECT
    return narrowed(schema, persona.agent_skills) if tool.made_of == SKILL_FUNCTION else schema


def offered_tools(plan: Plan, terms: LoopTerms) -> tuple[OfferedTool, ...]:
    """Return the tools as the model sees them, then the teams that it may hand over to.

    Its own tools come first, then those by which it finds and calls others.
    """
    code = terms.code
    own = [offered_tool(name, plan.tools[name], terms.tools[name]) for name in terms.sent]
    if code is not None:
        described = {"description": code_description(code, plan.tools)}
        own = [
            tool.model_copy(update=described) if tool.name == code.tool else tool for tool in own
        ]
    constant = constant_tools(terms.deferred, plan.tools)
    teams = [
        OfferedTool(name=name, description=_handoff_text(plan, team), input_schema=_HANDOFF)
        for name, team in terms.handoffs.items()
    ]
    return (*own, *constant, *teams)


def _schemas(plan: Plan, persona: Persona, names: Iterable[str]) -> dict[str, Json]:
    return {name: _arguments(plan.tools[name], persona) for name in names}


def skills_read(plan: Plan, calls: Sequence[OpenCall]) -> tuple[str, ...]:
    """Return the agent skills that calls of a turn read, each once."""
    names = (
        call.arguments.get("name")
        for call in calls
        if call.tool in plan.tools and plan.tools[call.tool].made_of == SKILL_FUNCTION
    )
    return tuple(
        dict.fromkeys(name for name in names if isinstance(name, str) and name in plan.skills)
    )


def with_own_arguments(response: AgentResponse, plan: Plan) -> AgentResponse:
    """Return a response whose calls name real tools, with the arguments that these know."""
    real_calls = map(found_call, response.tool_calls)
    calls = tuple(_own_call(call, plan.tools.get(call.tool)) for call in real_calls)
    if calls == response.tool_calls:
        return response
    return response.model_copy(update={"tool_calls": calls})


def _own_call(call: ToolCallRequest, tool: Tool | None) -> ToolCallRequest:
    if tool is None or tool.offered_schema is None or tool.input_schema is None:
        return call
    arguments = own_arguments(tool.input_schema, call.arguments)
    return call.model_copy(update={"arguments": arguments})


def _handoffs(persona: Persona) -> dict[str, str]:
    return {handoff_name(team): team for team in persona.handoffs}


def _handoff_text(plan: Plan, team: str) -> str:
    named = plan.teams[team].name if team in plan.teams else ""
    about = f" ({named})" if named and named != team else ""
    return f"Hands the work over to the team {team}{about}, and ends yours."
