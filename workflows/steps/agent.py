"""An agent: one model turn is one activity; an execution plan runs step by step."""

from functools import partial

from pydantic import JsonValue

from activities.contracts import (
    AgentRequest,
    AgentResponse,
    CallOptions,
    Conversation,
    FailureType,
    Reask,
)
from dsl.evaluate.slices import slice_for
from dsl.model.outcomes import Outcome
from dsl.model.steps import ORCHESTRATING, AgentStep
from dsl.model.terms import consent
from dsl.model.traversal.step_lists import followed_plan
from dsl.templates.template_filling import fill
from dsl.values import Json
from workflows.agents.chosen_persona import with_persona
from workflows.agents.conversation_order import converse
from workflows.agents.repeated_calls import notes
from workflows.approvals.output_approval import ApprovalSubject, with_consent
from workflows.budgets.balances import paid
from workflows.budgets.call_admission import admit_call, in_flight
from workflows.core.location import Interpreter, Location, Returned
from workflows.core.scope import Call, CallFailed, Scope
from workflows.core.usage import began, used

_LEGACY_TIMEOUT = 600.0
_LEGACY_RETRIES = 2


async def execute(
    step: AgentStep, place: Location, scope: Scope, interpreter: Interpreter
) -> Outcome:
    """Run the agent: its persona, or the one that its template chooses."""
    if not step.personas:
        return await _run(step, place, scope, interpreter)
    chosen = with_persona(step, place, scope)
    if isinstance(chosen, Outcome):
        return chosen
    outcome = await _run(chosen, place, scope, interpreter)
    scope.state.progress.personas.pop(place.key, None)
    return outcome


async def _run(step: AgentStep, place: Location, scope: Scope, interpreter: Interpreter) -> Outcome:
    """Run the agent, with an approval before or after if the step requires one."""
    if step.requires_approval is False:
        if step.agent_type == ORCHESTRATING:
            return await _plan(step, place, scope, interpreter)
        return await _turns(step, place, scope, interpreter)
    terms = consent(step.requires_approval)
    if terms is None:
        return await _work(step, place, scope, interpreter)
    given = fill(step.input, place.facts(scope).names())
    subject = ApprovalSubject(
        given=given,
        allow=f"May {step.name!r} start?",
        accept=f"Is the answer of {step.name!r} accepted?",
        shown=None if given is not None else _sent(step, place, scope, interpreter),
    )

    async def work(allowed: JsonValue) -> Outcome:
        return await _work(step, place, scope, interpreter, allowed)

    return await with_consent(terms, subject, place, scope, work)


def _sent(step: AgentStep, place: Location, scope: Scope, interpreter: Interpreter) -> JsonValue:
    """Return what the prompts name, which the approver of an agent without `input` sees."""
    if step.agent_class is not None or step.agent_type == ORCHESTRATING:
        return None
    return slice_for(interpreter.persona(step), step, place.facts(scope)) or None


async def _work(
    step: AgentStep,
    place: Location,
    scope: Scope,
    interpreter: Interpreter,
    given: JsonValue = None,
) -> Outcome:
    if step.agent_type == ORCHESTRATING:
        return await _plan(step, place, scope, interpreter, given)
    return await _turns(step, place, scope, interpreter, given)


async def _plan(
    step: AgentStep,
    place: Location,
    scope: Scope,
    interpreter: Interpreter,
    given: JsonValue = None,
) -> Outcome:
    """Interpret the persona's execution plan in a frame of its own; its variables are the data."""
    if given is None:
        given = fill(step.input, place.facts(scope).names())
    plan = followed_plan(step, scope.plan.personas)
    inner = place.own_frame(step.persona_key or "")
    frame = inner.frame(scope)
    frame.input = given
    try:
        outcome = await interpreter.run_steps(plan, inner, part="plan")
    except Returned as returned:
        scope.state.forget(inner.key)
        return Outcome.succeeded(returned.value)
    variables = dict(frame.variables)
    scope.state.forget(inner.key)
    if outcome.status == "failure" and outcome.error is not None:
        return Outcome("failure", variables, outcome.error)
    return Outcome.succeeded(variables)


async def _turns(
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
    state = scope.state
    persona = step.persona_key or step.name
    noticing = bool(scope.plan.budgets) or place.loop is not None
    notices = await _notices(scope, place, persona, boundary=True) if noticing else ()
    request, options, reasks = _request(step, place, scope, interpreter, given)
    if conversation is not None:
        request = request.model_copy(update={"conversation": conversation})
    model = _model(request)
    number = 0
    while True:
        if notices != request.notices and request.agent_class is None:
            request = request.model_copy(update={"notices": notices})
        tally = began(state, place, persona, model)
        call = _call(step, place, scope, options, number)
        try:
            if scope.plan.budgets:
                response = await _paid(scope, place, persona, request, call, model)
            else:
                response = await scope.run_agent(request, call)
        except CallFailed as error:
            if error.spent is not None:
                used(state, place, tally, error.spent)
            return Outcome.failed(error.type, error.message), None
        used(state, place, tally, response)
        if not _worth_a_reask(response) or number == reasks:
            return _outcome(response), response
        number += 1
        problem = response.error.message if response.error else ""
        reask = Reask(number=number, answer=response.answer or "", problem=problem)
        request = request.model_copy(update={"reask": reask})
        if noticing:
            notices = await _notices(scope, place, persona, boundary=False)


async def _notices(
    scope: Scope, place: Location, persona: str, *, boundary: bool
) -> tuple[str, ...]:
    """Wait until the turn may start; return what the agent should know besides its prompt."""
    nudges = notes(place, scope) if place.loop is not None else ()
    if not scope.plan.budgets:
        return nudges
    personas = (*place.personas, persona)
    return nudges + await admit_call(scope, place, personas, "model_calls", boundary=boundary)


async def _paid(
    scope: Scope, place: Location, persona: str, request: AgentRequest, call: Call, model: str
) -> AgentResponse:
    """Run the turn, and charge the budgets of the plan."""
    personas = (*place.personas, persona)
    try:
        response = await in_flight(scope, scope.run_agent(request, call))
    except CallFailed as error:
        if error.spent is not None:
            paid(scope, place, personas, error.spent, model)
        raise
    paid(scope, place, personas, response, model)
    return response


def _model(request: AgentRequest) -> str:
    persona = request.persona
    return "" if persona is None else f"{persona.provider}/{persona.model}"


def _request(
    step: AgentStep, place: Location, scope: Scope, interpreter: Interpreter, allowed: JsonValue
) -> tuple[AgentRequest, CallOptions, int]:
    """Return the request, with only what the prompts name, and how to run it.

    `allowed` is the step's input as a person approved it; None without an approval.
    """
    facts = place.facts(scope)
    count = scope.state.executed(place.step)
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
        options = CallOptions(timeout=step.timeout or _LEGACY_TIMEOUT, retries=_LEGACY_RETRIES)
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
    options = CallOptions(timeout=step.timeout or persona.timeout, retries=persona.retries)
    return request, options, persona.max_reasks


def _call(step: AgentStep, place: Location, scope: Scope, options: CallOptions, reask: int) -> Call:
    state = scope.state
    state.calls += 1
    state.model_calls += 1
    again = f".r{reask}" if reask else ""
    path = place.step
    return Call(
        id=f"{state.calls:04}.{place.team}.{step.name}{again}",
        summary=path + again,
        options=options,
        step=path,
    )


def _worth_a_reask(response: AgentResponse) -> bool:
    return response.error is not None and response.error.type == FailureType.ANSWER_UNUSABLE


def _outcome(response: AgentResponse) -> Outcome:
    if response.success:
        return Outcome.succeeded(response.data)
    error = response.error
    if error is None:
        return Outcome.failed(
            "AgentFailed", "the agent reports a failure without an error", response.data
        )
    return Outcome.failed(error.type, error.message, response.data)
