"""What a tool loop sends: its terms, the tools that its model sees, and the requests of its turns.

The first request is whole, later ones have only what is new.
"""

from dataclasses import dataclass

from pydantic import JsonValue

from coterie.activities.contracts import AgentRequest, AgentResponse, Reask
from coterie.dsl.evaluate.slices import slice_for
from coterie.dsl.json_schema.offered_schema import own_arguments
from coterie.dsl.model.plan import Persona, Plan
from coterie.dsl.model.steps import PersonaStep
from coterie.dsl.model.tools.tool_contract import Tool
from coterie.dsl.model.tools.tool_use import NamedTool
from coterie.dsl.tool_loop.call_names import handoff_name
from coterie.dsl.tool_loop.decision import AskModel
from coterie.dsl.tool_loop.exchange import OfferedTool, ToolCallRequest, ToolResult, ToolTurn
from coterie.dsl.tool_loop.tool_loop_progress import OpenCall
from coterie.dsl.tool_loop.tool_loop_terms import LoopTerms
from coterie.dsl.values import Json
from coterie.workflows.agents.conversation_order import conversation_window
from coterie.workflows.core.location import Location
from coterie.workflows.core.progress.agent_progress import AgentLoopProgress
from coterie.workflows.core.scope import Scope

_ANY_OBJECT: Json = {"type": "object"}
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
    return LoopTerms(
        tools={name: plan.tools[name].input_schema or _ANY_OBJECT for name in persona.tools},
        handoffs=_handoffs(persona) if may_hand_over else {},
        max_turns=max_turns,
        choice="auto" if isinstance(choice, NamedTool) else choice,
        chosen=chosen,
        returns=persona.tool_calls == "return",
        policies=persona.tool_policy,
        max_reasks=persona.max_reasks,
    )


def offered_tools(plan: Plan, terms: LoopTerms) -> tuple[OfferedTool, ...]:
    """Return the tools as the model sees them: its own, then the teams that it may hand over to."""
    own = [
        OfferedTool(
            name=name,
            description=plan.tools[name].description,
            input_schema=plan.tools[name].offered_schema or schema,
        )
        for name, schema in terms.tools.items()
    ]
    teams = [
        OfferedTool(name=name, description=_handoff_text(plan, team), input_schema=_HANDOFF)
        for name, team in terms.handoffs.items()
    ]
    return (*own, *teams)


def with_own_arguments(response: AgentResponse, plan: Plan) -> AgentResponse:
    """Return a response whose calls have the arguments that their tools know."""
    calls = tuple(
        _own_call(tool_call, plan.tools.get(tool_call.tool)) for tool_call in response.tool_calls
    )
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


@dataclass(frozen=True, slots=True)
class TurnRequests:
    """Writes the requests of one agent."""

    step: PersonaStep
    persona: Persona
    terms: LoopTerms
    location: Location
    scope: Scope
    given: JsonValue
    conversation: str | None

    def request(
        self, asked: AskModel, notices: tuple[str, ...], progress: AgentLoopProgress
    ) -> AgentRequest:
        """Return the request of a turn."""
        first = progress.loop.turns + progress.loop.reasks == 0
        results = self._unsent() if first else tuple(map(_result, progress.loop.calls))
        turn = ToolTurn(
            offered=offered_tools(self.scope.plan, self.terms) if first else (),
            continues=not first,
            results=results,
            choice=asked.choice,
            tool=asked.tool,
            parallel=self.persona.parallel_tool_calls,
        )
        request = AgentRequest(
            team=self.location.team,
            task=self.step.name,
            visit=progress.execution,
            agent_type=self.step.agent_type,
            conversation=conversation_window(self.step, progress.head),
            notices=notices,
            tool_turn=turn,
        )
        return self._opening(request) if first else self._later(request, asked, progress)

    def _opening(self, request: AgentRequest) -> AgentRequest:
        persona = _without_tools(self.persona)
        inputs = slice_for(persona, self.step, self.location.facts(self.scope), self.given)
        return request.model_copy(update={"persona": persona, "inputs": inputs})

    def _later(
        self, request: AgentRequest, next_turn: AskModel, progress: AgentLoopProgress
    ) -> AgentRequest:
        reask = None
        if next_turn.reask:
            number = progress.loop.reasks + 1
            reask = Reask(number=number, answer="", problem=progress.problem)
        return request.model_copy(update={"provider": self.persona.provider, "reask": reask})

    def _unsent(self) -> tuple[ToolResult, ...]:
        """Return the results that the conversation's latest turn still waits for."""
        if self.conversation is None:
            return ()
        return tuple(self.scope.state.unsent_results.get(self.conversation, ()))


def _result(call: OpenCall) -> ToolResult:
    assert call.result is not None, "a turn begins when every call has a result"
    return call.result


def _without_tools(persona: Persona) -> Persona:
    """Return the persona as its worker needs it: the request carries the tools themselves."""
    fields = Persona.model_fields
    settings = ("tools", "max_turns", "tool_choice", "tool_calls", "tool_policy", "handoffs")
    return persona.model_copy(update={name: fields[name].default for name in settings})
