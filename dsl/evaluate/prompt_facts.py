"""Slices: the part of the facts that an agent's prompts name.

An agent's input stays in the history forever, so it contains only what its prompts name: a history
of n steps then grows with n, and not with its square.
"""

from collections.abc import Mapping
from functools import lru_cache
from typing import Final, cast

from pydantic import JsonValue

from coterie.dsl.model.facts import Facts
from coterie.dsl.model.outcomes import Outcome
from coterie.dsl.model.plan import Persona
from coterie.dsl.model.steps import PersonaStep
from coterie.dsl.paths import MISSING, Path
from coterie.dsl.templates.brace_prompts import braces_to_template
from coterie.dsl.templates.jsonable import look_up, to_json
from coterie.dsl.templates.template import is_template, parse
from coterie.dsl.templates.template_filling import fill
from coterie.dsl.templates.template_rules import BadTemplate
from coterie.dsl.values import Json

_LEAVES: Final = frozenset({str, int, float, bool, type(None), list})
"""What most paths end at: to ask an abstract type about them takes longer than the rest."""


@lru_cache(maxsize=4096)
def _paths(text: str, known_inputs: tuple[str, ...] | None) -> tuple[Path, ...]:
    if known_inputs is not None:
        text = braces_to_template(text, known_inputs)
    if not is_template(text):
        return ()
    try:
        return tuple(parse(text, statements=True).paths)
    except BadTemplate:
        return ()  # rendering in the agent reports it


def slice_for(persona: Persona, step: PersonaStep, facts: Facts, allowed: JsonValue = None) -> Json:
    """Return what the persona's prompts name, nested as they name it, and the step's own input.

    A path without a value is left out: the prompt may have a default for it. An input that a person
    approved is used unchanged and never rendered.

    Raises:
        TemplateFailed: the step's `input` names something that does not exist.
    """
    inputs: Json = {}
    if step.input is not None:
        inputs["input"] = fill(step.input, facts.names()) if allowed is None else allowed
    own_input = inputs.get("input")
    braces = tuple(own_input) if isinstance(own_input, dict) else ()
    named = [
        path
        for text in persona.prompts.values()
        for path in _paths(text, braces if persona.prompt_syntax == "braces" else None)
        if path[0] != "input"
    ]
    roots = facts.roots()
    for path in named:
        _take(inputs, path, roots)
    return inputs


def _take(inputs: Json, path: Path, roots: Mapping[str, object]) -> None:
    value: object = roots
    here = inputs
    last = len(path) - 1
    for depth, segment in enumerate(path):
        child = look_up(value, segment)
        if child is MISSING:
            return
        if type(child) in _LEAVES or not isinstance(child, dict | Outcome | Mapping):
            here[segment] = cast("JsonValue", child)
            return
        value = cast("object", child)
        if depth == last:
            part = here.get(segment)
            whole = to_json(value)
            if isinstance(part, dict) and isinstance(whole, dict):
                whole = {**part, **whole}  # the whole of an outcome has not its times
            here[segment] = whole
            return
        match here.setdefault(segment, {}):
            case dict() as below:
                here = below
            case _:
                return  # an earlier path has taken the whole value
