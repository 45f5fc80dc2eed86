"""An agent that asks a model once, with a bounded number of re-asks after an unusable answer."""

import json
from dataclasses import dataclass
from functools import partial
from typing import Self

from pydantic import JsonValue

from coterie.activities.contracts import (
    AgentRequest,
    AgentResponse,
    CallOptions,
    Conversation,
    Reask,
    TurnSuffix,
)
from coterie.dsl.egress.egress_rules import has_own_code
from coterie.dsl.evaluate.prompt_facts import slice_for
from coterie.dsl.hooks.hook_rulings import HookRuling
from coterie.dsl.model.outcomes import Outcome
from coterie.dsl.model.step_kinds.agent_step import AnyAgent
from coterie.dsl.model.step_kinds.agent_types import ORCHESTRATING, SINGLE_SHOT, TOOL_CALLING
from coterie.dsl.model.steps import LegacyAgentStep, PersonaStep
from coterie.dsl.model.template_bound import seconds_of
from coterie.dsl.templates.template_filling import fill
from coterie.dsl.values import Json
from coterie.workflows.agents.agent_turns import (
    AgentModels,
    AgentTurns,
    ConversationHead,
    TurnCall,
)
from coterie.workflows.agents.conversation_order import (
    conversation_name,
    converse,
    keep_conversation,
)
from coterie.workflows.agents.hook_points import (
    HOOK_FAILED,
    HookVerdict,
    TurnHooks,
    hooks_of,
    stopped_outcome,
)
from coterie.workflows.agents.model_turns import (
    has_acted,
    is_worth_a_reask,
    turn_notices,
    turn_outcome,
)
from coterie.workflows.agents.shared_work import shared_work
from coterie.workflows.core.location import Interpreter, Location
from coterie.workflows.core.progress.agent_progress import ParkedTurn
from coterie.workflows.core.scope import CallFailed, Interrupted, Scope

_LEGACY_TIMEOUT = 600.0
_LEGACY_RETRIES = 2


@dataclass
class _Reasks:
    """How often the model was asked again, and how often it may be."""

    made: int
    left: int
    """After an unusable answer; hooks count their own."""
    of_hooks: dict[str, int]
    """`{hook: how often it has refused an answer}`."""

    @classmethod
    def of(cls, request: AgentRequest, parked: ParkedTurn | None) -> Self:
        """Return those of a new turn, or of one that was parked."""
        if parked is not None:
            return cls(parked.reasks, parked.reasks_left, parked.hook_retries)
        return cls(0, 0 if request.persona is None else request.persona.max_reasks, {})

    @property
    def turn(self) -> int:
        """The number of the model turn, from 1."""
        return self.made + 1

    def count(self, *, unusable: bool) -> None:
        """Count one more, after an unusable answer or one that a hook refused."""
        self.made += 1
        self.left -= unusable


async def run_turns(
    step: AnyAgent,
    location: Location,
    scope: Scope,
    interpreter: Interpreter,
    given: JsonValue = None,
) -> Outcome:
    """Run a model turn, on its own or in a conversation."""
    if step.conversation is None:
        return (await _ask_with_reasks(step, location, scope, interpreter, given))[0]
    return await converse(
        step, location, scope, partial(_ask_with_reasks, step, location, scope, interpreter, given)
    )


async def _ask_with_reasks(
    step: AnyAgent,
    location: Location,
    scope: Scope,
    interpreter: Interpreter,
    agent_input: JsonValue,
    conversation: Conversation | None = None,
) -> tuple[Outcome, AgentResponse | None]:
    """Run one model turn, and a bounded number of re-asks after an unusable answer."""
    persona = _persona_key(step) or step.name
    noticing = bool(scope.plan.budgets) or location.loop is not None
    parked = scope.state.progress.parked_turns.pop(location.key, None)
    begins = noticing and parked is None
    notices = await turn_notices(scope, location, persona, boundary=True) if begins else ()
    request = None if parked is None else parked.request
    request = request or _request(step, location, scope, interpreter, agent_input, conversation)
    shared = shared_work(location, scope) if scope.state.progress.shared_work else ()
    talk = "" if conversation is None else str(conversation_name(step, location, scope))
    reasks = _Reasks.of(request, parked)
    turns = _turns(step, request, talk, reasks.of_hooks, parked, location, scope)
    hooks = turns.hooks
    while True:
        turn = reasks.turn
        if parked is None:
            begun = await hooks.begin(turn, request.inputs, turns.choice.current)
            if begun.stop is not None:
                return stopped_outcome(begun.stop), None
            notes = (*shared, *notices, *begun.notes)
            request = _of_turn(_with_notices(request, notes), step, scope)
        suffix = TurnSuffix(reask=reasks.made)
        call = TurnCall(turn, _options(step, request), suffix, parked)
        try:
            response = await turns.call(request, call)
        except Interrupted:
            _park(scope.state.progress.parked_turns[location.key], reasks, talk)
            raise
        except CallFailed as error:
            return Outcome.failed(error.type, error.message), None
        if isinstance(response, HookRuling):
            return stopped_outcome(response), None
        parked = None
        turns.stay_with_fallback(talk)
        verdict, response = await hooks.after_call(turn, response, turns.choice.current)
        stop = verdict.stop or (await hooks.after_turn(turn, response.data)).stop
        stopped = _stopped_turn(stop, verdict, response)
        if stopped is not None:
            return stopped, response
        unusable = is_worth_a_reask(response)
        if not verdict.retries and (not unusable or not reasks.left):
            return turn_outcome(response), response
        reasks.count(unusable=unusable)
        request = request.model_copy(update={"reask": _reask(reasks.made, response, verdict)})
        notices = await turn_notices(scope, location, persona, boundary=False) if noticing else ()


def _stopped_turn(
    stop: HookRuling | None, verdict: HookVerdict, response: AgentResponse
) -> Outcome | None:
    """Return the failure of a turn that a hook stops, or whose retry would repeat an effect."""
    if stop is not None:
        return stopped_outcome(stop)
    if verdict.retries and has_acted(response.inner_calls):
        why = f"{verdict.reason}, but its code has called what must not happen twice"
        return Outcome.failed(HOOK_FAILED, why)
    return None


def _park(parked: ParkedTurn, reasks: _Reasks, conversation: str) -> None:
    """Keep how often the answer was asked again, in a run that continues as new."""
    parked.reasks, parked.reasks_left = reasks.made, reasks.left
    parked.hook_retries = reasks.of_hooks
    parked.conversation = conversation


def _turns(
    step: AnyAgent,
    request: AgentRequest,
    talk: str,
    retries: dict[str, int],
    parked: ParkedTurn | None,
    location: Location,
    scope: Scope,
) -> AgentTurns:
    """Return what calls the models of an agent in its conversation."""
    key, own = _persona_key(step), request.persona
    latest = scope.state.conversation_models.get(talk, "") if parked is None else parked.model
    context_use = scope.state.conversation_sizes.get(talk)
    choice = AgentModels.of(scope.plan, key, own, latest, context_use)
    payer, moved = key or step.name, partial(_move, talk, scope)
    hooks = TurnHooks(hooks_of(scope.plan, key), retries, own, payer, step.name, location, scope)
    return AgentTurns(choice, hooks, own, payer, location, scope, moved)


def _persona_key(step: AnyAgent) -> str:
    """Return the key of the step's persona; empty for a legacy agent."""
    return step.persona_key if isinstance(step, PersonaStep) else ""


def _with_notices(request: AgentRequest, notices: tuple[str, ...]) -> AgentRequest:
    if notices == request.notices or request.agent_class is not None:
        return request
    return request.model_copy(update={"notices": notices})


def _of_turn(request: AgentRequest, step: AnyAgent, scope: Scope) -> AgentRequest:
    """Return the request with what the calls of an agent's own code need."""
    built_in = (SINGLE_SHOT, TOOL_CALLING, ORCHESTRATING)
    if isinstance(step, PersonaStep) and step.agent_type in built_in:
        return request
    state = scope.state
    untrusted = request.untrusted or (state.met_untrusted and has_own_code(step))
    return request.model_copy(update={"execution": state.execution, "untrusted": untrusted})


def _move(conversation: str, scope: Scope, to: ConversationHead) -> None:
    """Continue in the conversation that replaces the one that became too long."""
    keep_conversation(scope.state, conversation, *to)


def _reask(number: int, response: AgentResponse, verdict: HookVerdict) -> Reask:
    """Return what the model learns about its answer: unusable, or refused by a hook."""
    if verdict.retries:
        return Reask(number=number, answer=_answer_text(response.data), problem=verdict.reason)
    problem = response.error.message if response.error else ""
    return Reask(number=number, answer=response.answer or "", problem=problem)


def _answer_text(data: JsonValue) -> str:
    """Return an answer as the model gave it."""
    text = data.get("text") if isinstance(data, dict) and len(data) == 1 else data
    return text if isinstance(text, str) else json.dumps(data, ensure_ascii=False)


def _options(step: AnyAgent, request: AgentRequest) -> CallOptions:
    """Return how to run the request of a step."""
    limit = None if step.timeout is None else seconds_of(step.timeout)
    persona = request.persona
    if persona is None:
        return CallOptions(timeout=limit or _LEGACY_TIMEOUT, retries=_LEGACY_RETRIES)
    return CallOptions(timeout=limit or persona.timeout, retries=persona.retries)


def _request(
    step: AnyAgent,
    location: Location,
    scope: Scope,
    interpreter: Interpreter,
    allowed: JsonValue,
    conversation: Conversation | None,
) -> AgentRequest:
    """Return the request, with only what the prompts name.

    `allowed` is the step's input as a person approved it; None without an approval.
    """
    facts = location.facts(scope)
    count = scope.state.executed(location.step.without_model_calls())
    if isinstance(step, LegacyAgentStep):
        inputs: Json = (
            {"context": facts.context}
            if step.input is None
            else {"input": fill(step.input, facts.names()) if allowed is None else allowed}
        )
        return AgentRequest(
            team=location.team,
            task=step.name,
            visit=count,
            agent_type=None,
            agent_class=step.agent_class,
            legacy_config=scope.plan.legacy_agents,
            inputs=inputs,
            conversation=conversation,
        )
    persona = interpreter.persona(step)
    return AgentRequest(
        team=location.team,
        task=step.name,
        visit=count,
        agent_type=step.agent_type,
        persona=persona,
        inputs=slice_for(persona, step, facts, allowed),
        conversation=conversation,
    )
