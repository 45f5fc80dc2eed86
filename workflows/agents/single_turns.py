"""An agent that asks a model once, with a bounded number of re-asks after an unusable answer."""

import json
from functools import partial

from pydantic import JsonValue

from activities.contracts import (
    AgentRequest,
    AgentResponse,
    CallOptions,
    Conversation,
    Reask,
)
from dsl.evaluate.slices import slice_for
from dsl.hooks.hook_rulings import HookRuling
from dsl.model.outcomes import Outcome
from dsl.model.steps import AgentStep
from dsl.model.template_bound import seconds_of
from dsl.templates.template_filling import fill
from dsl.values import Json
from workflows.agents.compactor import Compactor, ConversationHead
from workflows.agents.conversation_order import conversation_name, converse, keep_conversation
from workflows.agents.hook_points import HookVerdict, stopped_outcome
from workflows.agents.model_fallback import ModelChain, stay_with_fallback
from workflows.agents.model_turns import (
    is_worth_a_reask,
    turn_notices,
    turn_outcome,
)
from workflows.agents.shared_work import shared_work
from workflows.agents.turn_hooks import TurnHooks, hooks_of
from workflows.core.location import Interpreter, Location
from workflows.core.scope import CallFailed, Scope

_LEGACY_TIMEOUT = 600.0
_LEGACY_RETRIES = 2


async def run_turns(
    step: AgentStep,
    place: Location,
    scope: Scope,
    interpreter: Interpreter,
    given: JsonValue = None,
) -> Outcome:
    """Run a model turn, on its own or in a conversation."""
    if step.conversation is None:
        return (await _asked(step, place, scope, interpreter, given))[0]
    return await converse(
        step, place, scope, partial(_asked, step, place, scope, interpreter, given)
    )


async def _asked(
    step: AgentStep,
    place: Location,
    scope: Scope,
    interpreter: Interpreter,
    given: JsonValue,
    conversation: Conversation | None = None,
) -> tuple[Outcome, AgentResponse | None]:
    """Run one model turn, and a bounded number of re-asks after an unusable answer."""
    persona = step.persona_key or step.name
    noticing = bool(scope.plan.budgets) or place.loop is not None
    notices = await turn_notices(scope, place, persona, boundary=True) if noticing else ()
    request, options, reasks = _request(step, place, scope, interpreter, given)
    shared = shared_work(place, scope)
    if conversation is not None:
        request = request.model_copy(update={"conversation": conversation})
    schema = None if request.persona is None else request.persona.output_schema
    model = "" if request.persona is None else f"{request.persona.provider}/{request.persona.model}"
    talk = "" if conversation is None else str(conversation_name(step, place, scope))
    latest = scope.state.conversation_models.get(talk, "")
    chain = ModelChain(scope.plan, step.persona_key or "", model, latest)
    asked = hooks_of(scope.plan, step.persona_key)
    hooks = TurnHooks(asked, persona, step.name, place, scope, {}, schema)
    used = scope.state.conversation_sizes.get(talk)
    moved = partial(_move, talk, scope)
    room = Compactor(request.persona, persona, chain, hooks, place, scope, used, moved)
    number, left = 0, reasks
    while True:
        begun = await hooks.begin(number + 1, chain.current, request.inputs)
        if begun.stop is not None:
            return stopped_outcome(begun.stop), None
        with_notes = (*shared, *notices, *begun.notes)
        if with_notes != request.notices and request.agent_class is None:
            request = request.model_copy(update={"notices": with_notes})
        suffix = f".r{number}" if number else ""
        try:
            response = await room.call(request, number + 1, options, suffix)
        except CallFailed as error:
            return Outcome.failed(error.type, error.message), None
        if isinstance(response, HookRuling):
            return stopped_outcome(response), None
        stay_with_fallback(chain, talk, scope)
        verdict, response = await hooks.after_call(number + 1, chain.current, response)
        stop = verdict.stop or (await hooks.after_turn(number + 1, response.data)).stop
        if stop is not None:
            return stopped_outcome(stop), response
        unusable = is_worth_a_reask(response)
        if not verdict.retries and (not unusable or not left):
            return turn_outcome(response), response
        number, left = number + 1, left - unusable
        request = request.model_copy(update={"reask": _reask(number, response, verdict)})
        if noticing:
            notices = await turn_notices(scope, place, persona, boundary=False)


def _move(conversation: str, scope: Scope, to: ConversationHead) -> None:
    """Continue in the conversation that replaces the one that became too long."""
    keep_conversation(scope.state, conversation, *to)


def _reask(number: int, response: AgentResponse, verdict: HookVerdict) -> Reask:
    """Return what the model learns about its answer: unusable, or refused by a hook."""
    if verdict.retries:
        return Reask(number=number, answer=_said(response.data), problem=verdict.reason)
    problem = response.error.message if response.error else ""
    return Reask(number=number, answer=response.answer or "", problem=problem)


def _said(data: JsonValue) -> str:
    """Return an answer as the model gave it."""
    text = data.get("text") if isinstance(data, dict) and len(data) == 1 else data
    return text if isinstance(text, str) else json.dumps(data, ensure_ascii=False)


def _request(
    step: AgentStep, place: Location, scope: Scope, interpreter: Interpreter, allowed: JsonValue
) -> tuple[AgentRequest, CallOptions, int]:
    """Return the request, with only what the prompts name, and how to run it.

    `allowed` is the step's input as a person approved it; None without an approval.
    """
    facts = place.facts(scope)
    count = scope.state.executed(place.step.without_model_calls())
    limit = None if step.timeout is None else seconds_of(step.timeout)
    if step.agent_class is not None:
        given: Json = (
            {"context": facts.context}
            if step.input is None
            else {"input": fill(step.input, facts.names()) if allowed is None else allowed}
        )
        request = AgentRequest(
            team=place.team,
            task=step.name,
            visit=count,
            agent_type=None,
            agent_class=step.agent_class,
            legacy_config=scope.plan.legacy_agents,
            inputs=given,
        )
        options = CallOptions(timeout=limit or _LEGACY_TIMEOUT, retries=_LEGACY_RETRIES)
        return request, options, 0
    persona = interpreter.persona(step)
    request = AgentRequest(
        team=place.team,
        task=step.name,
        visit=count,
        agent_type=step.agent_type,
        persona=persona,
        inputs=slice_for(persona, step, facts, allowed),
    )
    options = CallOptions(timeout=limit or persona.timeout, retries=persona.retries)
    return request, options, persona.max_reasks
