"""The requests of a tool loop's turns: the first is whole, later ones have only what is new."""

from dataclasses import dataclass

from pydantic import JsonValue

from coterie.activities.contracts import AgentRequest, Reask
from coterie.dsl.evaluate.prompt_facts import slice_for
from coterie.dsl.model.plan import Persona
from coterie.dsl.model.steps import PersonaStep
from coterie.dsl.tool_loop.exchange import ToolResult, ToolTurn
from coterie.dsl.tool_loop.tool_loop_decision import AskModel
from coterie.dsl.tool_loop.tool_loop_progress import OpenCall
from coterie.dsl.tool_loop.tool_loop_terms import LoopTerms
from coterie.workflows.agents.conversation_order import conversation_window
from coterie.workflows.agents.loop.offered_tools import offered_tools
from coterie.workflows.core.location import Location
from coterie.workflows.core.progress.agent_progress import AgentLoopProgress
from coterie.workflows.core.scope import Scope


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


_OF_TOOLS = (
    "tools",
    "max_turns",
    "tool_choice",
    "tool_calls",
    "tool_policy",
    "code_mode",
    "agent_skills",
    "tool_search",
    "always_sent",
    "deferred_tools",
    "handoffs",
)


def _without_tools(persona: Persona) -> Persona:
    """Return the persona as its worker needs it: the request carries the tools themselves."""
    fields = Persona.model_fields
    return persona.model_copy(update={name: fields[name].default for name in _OF_TOOLS})
