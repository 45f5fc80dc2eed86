"""Chosen persona: which of its listed personas an agent step runs, once its template is filled."""

from coterie.dsl.errors import listed, nearest
from coterie.dsl.json_values import describe_kind
from coterie.dsl.model.outcomes import Outcome
from coterie.dsl.model.plan import Plan
from coterie.dsl.model.step_kinds.agent_types import ORCHESTRATING
from coterie.dsl.model.steps import AgentStep
from coterie.dsl.model.terms import CallApproval
from coterie.dsl.templates.template_filling import fill
from coterie.workflows.core.causes.agent_causes import PersonaChosen
from coterie.workflows.core.location import Location
from coterie.workflows.core.scope import Scope
from coterie.workflows.core.trail import note_step

_MAX_TEMPLATE_LENGTH = 200
_MAX_NAME_LENGTH = 100


def with_persona(step: AgentStep, location: Location, scope: Scope) -> AgentStep | Outcome:
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
    one = next((one for one in step.choices if one.persona_name == name), None)
    if one is None:
        shown = name[:_MAX_NAME_LENGTH]
        hint = nearest(shown, step.persona_names)
        return _refusal_outcome(step, f"it does not list the persona {shown!r}", hint)
    if is_new:
        chosen[location.key] = name
        template = " ".join(str(step.persona_key).split())[:_MAX_TEMPLATE_LENGTH]
        cause = PersonaChosen("persona_chosen", name, template, len(step.personas))
        note_step(scope, location, "chosen", cause)
    return _with_schema(one, scope.plan)


def _refusal_outcome(step: AgentStep, why: str, hint: str = "") -> Outcome:
    message = f"{step.name!r} cannot start: {why}; personas: {listed(step.persona_names)}"
    return Outcome.failed("UnknownPersona", f"{message}; {hint}" if hint else message)


def _with_schema(step: AgentStep, plan: Plan) -> AgentStep:
    """Check an edited answer by the persona's schema, as the compiler does for a fixed persona."""
    match step.requires_approval:
        case CallApproval(at="after", editable=True, schema_=None) as asked:
            persona = plan.personas[step.persona_key or ""]
        case _:
            return step
    if persona.output_schema is None or step.agent_type == ORCHESTRATING:
        return step
    approval = asked.model_copy(update={"schema_": persona.output_schema})
    return step.model_copy(update={"requires_approval": approval})
