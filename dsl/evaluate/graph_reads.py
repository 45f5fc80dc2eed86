"""Graph reads: which fields of `graph` the steps of a task graph read.

A graph of thousands of tasks is shown whole only to steps that ask for it.
"""

from collections.abc import Iterator, Mapping

from coterie.dsl.json_values import texts_within
from coterie.dsl.model.conditions import Expression
from coterie.dsl.model.facts import GRAPH, GRAPH_VARIABLE
from coterie.dsl.model.plan import Persona
from coterie.dsl.model.steps import PersonaStep, Step, TaskGraphStep
from coterie.dsl.model.traversal.agent_personas import agent_personas
from coterie.dsl.model.traversal.step_walk import conditions, leaves, templated, walk
from coterie.dsl.templates.template import is_template, parse
from coterie.dsl.templates.template_rules import BadTemplate


def graph_fields(step: TaskGraphStep, personas: Mapping[str, Persona]) -> frozenset[str]:
    """Return the fields of `graph` that some template in the steps of a task graph reads."""
    fields: set[str] = set()
    for text in _texts(step, personas):
        try:
            paths = parse(text, statements=True).paths if is_template(text) else ()
        except BadTemplate:
            continue  # it fails where it is filled
        for name, *rest in paths:
            if name == GRAPH_VARIABLE:
                fields.update(rest[:1] or GRAPH)
    return frozenset(fields)


def _texts(step: TaskGraphStep, personas: Mapping[str, Persona]) -> Iterator[str]:
    yield step.chosen or ""
    yield from (text for text, _ in texts_within(step.add))
    for step_list in step.lists():
        for inner, _ in walk(step_list.steps, ()):
            yield from _of_step(inner, personas)


def _of_step(step: Step, personas: Mapping[str, Persona]) -> Iterator[str]:
    for value in templated(step, ()):
        yield from (text for text, _ in texts_within(value.value))
    for condition, _ in conditions(step, ()):
        for leaf, _ in leaves(condition, ()):
            if isinstance(leaf, Expression):
                yield leaf.expression
    if isinstance(step, PersonaStep):
        for _, persona in agent_personas(step, personas):
            yield from persona.prompts.values()
