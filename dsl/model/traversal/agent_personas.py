"""The personas that an agent step may have, and the execution plans that it may follow."""

from collections.abc import Iterator, Mapping

from coterie.dsl.model.plan import Persona
from coterie.dsl.model.step_kinds.agent_types import ORCHESTRATING
from coterie.dsl.model.steps import PersonaStep, Step


def agent_personas(
    step: PersonaStep, personas: Mapping[str, Persona]
) -> Iterator[tuple[PersonaStep, Persona]]:
    """Yield the step with each persona of the plan that its template may choose."""
    for choice in step.choices:
        persona = personas.get(choice.persona_key)
        if persona is not None:
            yield choice, persona


def execution_plans(
    step: Step, personas: Mapping[str, Persona]
) -> Iterator[tuple[PersonaStep, tuple[Step, ...]]]:
    """Yield an agent with each persona that it may have, and the execution plan of that one."""
    if isinstance(step, PersonaStep) and step.agent_type == ORCHESTRATING:
        for choice, persona in agent_personas(step, personas):
            yield choice, persona.execution_plan or ()


def execution_plan_steps(step: Step, personas: Mapping[str, Persona]) -> tuple[Step, ...]:
    """Return the execution plan of an agent step; empty for other steps.

    An agent whose persona a template chooses has the plans of all of them, one after the other.
    """
    return tuple(inner for _, plan in execution_plans(step, personas) for inner in plan)
