"""What an agent that uses tools came to: its answer, its calls, or why it has none."""

from pydantic import JsonValue

from coterie.activities.contracts import AgentResponse
from coterie.dsl.model.causes import HandedOff
from coterie.dsl.model.outcomes import Outcome
from coterie.dsl.model.plan import Persona
from coterie.dsl.tool_loop.result_texts import unmet_text
from coterie.dsl.tool_loop.tool_loop_progress import (
    AnswerFailed,
    CallsHandedBack,
    ExitedOnSuccess,
    HandoffMade,
    LoopEnd,
    ModelAnswered,
    OpenCall,
    PolicyUnmet,
    StoppedByHook,
)
from coterie.dsl.tool_loop.tool_loop_terms import LoopTerms
from coterie.workflows.agents.model_turns import turn_outcome
from coterie.workflows.core.causes.agent_causes import LoopExited
from coterie.workflows.core.location import Location
from coterie.workflows.core.scope import Scope
from coterie.workflows.core.trail import note_step


def loop_outcome(
    end: LoopEnd,
    response: AgentResponse | None,
    calls: list[OpenCall],
    agent: str,
    persona: Persona,
    terms: LoopTerms,
    location: Location,
    scope: Scope,
) -> Outcome:
    """Return the outcome of the step, and note an exit or a handoff.

    Args:
        end: Why the loop ended.
        response: Of the latest turn.
        calls: Of the latest turn.
        agent: The name of the task.
        persona: Of the agent.
        terms: Of its loop.
        location: The step.
        scope: Of the run.
    """
    match end:
        case ModelAnswered() | AnswerFailed():
            return _answer(response, None, persona, terms)
        case CallsHandedBack():
            return _answer(response, calls, persona, terms)
        case ExitedOnSuccess(call=index, tool=tool):
            note_step(scope, location, "exited", LoopExited("loop_exited", tool))
            return Outcome.succeeded(calls[index].data)
        case HandoffMade(call=index, team=team):
            return _handed_off(team, calls[index], response, location, scope)
        case StoppedByHook(type=type, message=message):
            return Outcome.failed(type, message)
        case PolicyUnmet(unmet=unmet):
            missing = "; ".join(map(unmet_text, unmet))
            return Outcome.failed(
                "ToolPolicyUnmet",
                f"agent {agent!r} has used its {terms.max_turns} turns, and "
                f"its policy demands more calls: {missing}",
            )


def _answer(
    response: AgentResponse | None,
    calls: list[OpenCall] | None,
    persona: Persona,
    terms: LoopTerms,
) -> Outcome:
    assert response is not None, "a loop ends with the turn that answers"
    outcome = turn_outcome(response)
    if not terms.returns or not outcome.success:
        return outcome
    if calls is None and persona.output_schema is not None:
        return outcome
    made: list[JsonValue] = [
        {"tool": call.tool, "arguments": call.arguments} for call in calls or ()
    ]
    if isinstance(outcome.data, dict) and calls is None:
        return Outcome.succeeded({**outcome.data, "tool_calls": made})
    return Outcome.succeeded({"text": _text_of(response), "tool_calls": made})


def _handed_off(
    team: str, call: OpenCall, response: AgentResponse | None, location: Location, scope: Scope
) -> Outcome:
    """Let the run leave for the team when the step has ended."""
    reason = call.arguments.get("reason")
    said = reason if isinstance(reason, str) else ""
    cause = HandedOff("handed_off", team, location.step, said)
    scope.state.progress.handoffs[location.key] = cause
    text = _text_of(response)
    return Outcome.succeeded({"text": text, "handoff": team, "reason": said})


def _text_of(response: AgentResponse | None) -> str:
    """Return what the model said beside its calls."""
    data = None if response is None else response.data
    text = data.get("text") if isinstance(data, dict) else None
    return text if isinstance(text, str) else ""
