"""An agent: one model turn is one activity; an execution plan runs step by step.

A template may choose one of the listed personas.
"""

from collections.abc import Coroutine

from pydantic import JsonValue

from coterie.dsl.errors import listed, nearest
from coterie.dsl.evaluate.prompt_facts import slice_for
from coterie.dsl.json_values import describe_kind
from coterie.dsl.model.decision_terms import CallApproval, call_approval
from coterie.dsl.model.outcomes import Outcome
from coterie.dsl.model.plan import Plan
from coterie.dsl.model.step_kinds.agent_step import AnyAgent
from coterie.dsl.model.step_kinds.agent_types import ORCHESTRATING, TOOL_CALLING
from coterie.dsl.model.steps import PersonaStep
from coterie.dsl.model.traversal.agent_personas import execution_plan_steps
from coterie.dsl.templates.template_filling import fill
from coterie.workflows.agents.loop.tool_loop import run_tool_loop
from coterie.workflows.agents.single_turns import run_turns
from coterie.workflows.approvals.output_approval import ApprovalSubject, with_approval
from coterie.workflows.core.causes.agent_causes import PersonaChosen
from coterie.workflows.core.location import Interpreter, Location, Returned
from coterie.workflows.core.scope import Scope
from coterie.workflows.core.trail import note_step

_MAX_TEMPLATE_LENGTH = 200
_MAX_NAME_LENGTH = 100


def with_persona(step: PersonaStep, location: Location, scope: Scope) -> PersonaStep | Outcome:
    """Return the step with the persona of its template; a failure if the step does not list it.

    One execution keeps its persona, also when the run continues as new in the middle.
    """
    chosen = scope.state.progress.personas
    name = chosen.get(location.key)
    is_new = name is None
    if name is None:
        filled = fill(step.persona_key, location.facts(scope).names())
        if not isinstance(filled, str):
            return _refusal_outcome(step, f"persona_key gives {describe_kind(filled)}")
        name = filled.strip()
    choice = next((choice for choice in step.choices if choice.persona_name == name), None)
    if choice is None:
        short_name = name[:_MAX_NAME_LENGTH]
        hint = nearest(short_name, step.persona_names)
        return _refusal_outcome(step, f"it does not list the persona {short_name!r}", hint)
    if is_new:
        chosen[location.key] = name
        template = " ".join(step.persona_key.split())[:_MAX_TEMPLATE_LENGTH]
        cause = PersonaChosen("persona_chosen", name, template, len(step.personas))
        note_step(scope, location, "chosen", cause)
    return _with_schema(choice, scope.plan)


def _refusal_outcome(step: PersonaStep, why: str, hint: str = "") -> Outcome:
    message = f"{step.name!r} cannot start: {why}; personas: {listed(step.persona_names)}"
    return Outcome.failed("UnknownPersona", f"{message}; {hint}" if hint else message)


def _with_schema(step: PersonaStep, plan: Plan) -> PersonaStep:
    """Check an edited answer by the persona's schema, as the compiler does for a fixed persona."""
    match step.requires_approval:
        case CallApproval(at="after", editable=True, schema_=None) as approval_terms:
            persona = plan.personas[step.persona_key]
        case _:
            return step
    if persona.output_schema is None or step.agent_type == ORCHESTRATING:
        return step
    approval = approval_terms.model_copy(update={"schema_": persona.output_schema})
    return step.model_copy(update={"requires_approval": approval})


def execute(
    step: AnyAgent, location: Location, scope: Scope, interpreter: Interpreter
) -> Coroutine[None, None, Outcome]:
    """Run the agent: its persona, or the one that its template chooses."""
    if isinstance(step, PersonaStep) and step.personas:
        return _with_chosen_persona(step, location, scope, interpreter)
    return _run(step, location, scope, interpreter)


async def _with_chosen_persona(
    step: PersonaStep, location: Location, scope: Scope, interpreter: Interpreter
) -> Outcome:
    chosen = with_persona(step, location, scope)
    if isinstance(chosen, Outcome):
        return chosen
    outcome = await _run(chosen, location, scope, interpreter)
    scope.state.progress.personas.pop(location.key, None)
    return outcome


def _run(
    step: AnyAgent, location: Location, scope: Scope, interpreter: Interpreter
) -> Coroutine[None, None, Outcome]:
    """Run the agent, with an approval before or after if the step requires one."""
    terms = None if step.requires_approval is False else call_approval(step.requires_approval)
    if terms is None:
        return run_agent(step, location, scope, interpreter)
    return _with_approval(step, terms, location, scope, interpreter)


async def _with_approval(
    step: AnyAgent, terms: CallApproval, location: Location, scope: Scope, interpreter: Interpreter
) -> Outcome:
    step_input = fill(step.input, location.facts(scope).names())
    subject = ApprovalSubject(
        given=step_input,
        allow=f"May {step.name!r} start?",
        accept=f"Is the answer of {step.name!r} accepted?",
        shown=None if step_input is not None else _values_sent(step, location, scope, interpreter),
    )

    async def work(allowed: JsonValue) -> Outcome:
        return await run_agent(step, location, scope, interpreter, allowed)

    return await with_approval(terms, subject, location, scope, work)


def _values_sent(
    step: AnyAgent, location: Location, scope: Scope, interpreter: Interpreter
) -> JsonValue:
    """Return what the prompts name, which the approver of an agent without `input` sees."""
    if not isinstance(step, PersonaStep) or step.agent_type == ORCHESTRATING:
        return None
    return slice_for(interpreter.persona(step), step, location.facts(scope)) or None


def run_agent(
    step: AnyAgent,
    location: Location,
    scope: Scope,
    interpreter: Interpreter,
    given: JsonValue = None,
) -> Coroutine[None, None, Outcome]:
    """Run the agent; `given` is its input as a person approved it, or as a model called it."""
    if isinstance(step, PersonaStep):
        if step.agent_type == ORCHESTRATING:
            return _plan(step, location, scope, interpreter, given)
        if step.agent_type == TOOL_CALLING:
            return run_tool_loop(step, location, scope, interpreter, given)
    return run_turns(step, location, scope, interpreter, given)


async def _plan(
    step: PersonaStep,
    location: Location,
    scope: Scope,
    interpreter: Interpreter,
    step_input: JsonValue = None,
) -> Outcome:
    """Interpret the persona's execution plan in a frame of its own; its variables are the data."""
    if step_input is None:
        step_input = fill(step.input, location.facts(scope).names())
    plan = execution_plan_steps(step, scope.plan.personas)
    inner = location.own_frame(step.persona_key)
    frame = inner.frame(scope)
    frame.input = step_input
    try:
        outcome = await interpreter.run_steps(plan, inner, part="plan")
    except Returned as returned:
        scope.state.forget(inner.key)
        return Outcome.succeeded(returned.value)
    variables = dict(frame.variables)
    scope.state.forget(inner.key)
    if outcome.status == "failure":
        return Outcome("failure", variables, outcome.error)
    return Outcome.succeeded(variables)
