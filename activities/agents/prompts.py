"""Render the messages to a model from a persona and the inputs of one turn."""

import json

from coterie.activities.agents.refusals import AgentRefused
from coterie.dsl.errors import TemplateFailed, listed
from coterie.dsl.evaluate.prompt_choice import (
    SYSTEM,
    AmbiguousPrompt,
    ChosenPrompt,
    NoPrompt,
    UnknownPrompt,
    choose_prompt,
)
from coterie.dsl.model.evaluation_budget import Names, meter_of
from coterie.dsl.model.plan import Persona
from coterie.dsl.templates.brace_prompts import braces_to_template
from coterie.dsl.templates.template_filling import fill_text
from coterie.dsl.values import Json


def system_message(persona: Persona, inputs: Json) -> str | None:
    """Render the system prompt, and list the agent skills after it; None when both are blank.

    Raises:
        TemplateFailed: The prompt names a value that the inputs do not have.
    """
    text = persona.prompts.get(SYSTEM)
    filled = _fill_prompt(text, persona, inputs) if text else ""
    parts = [part for part in (filled, persona.skill_list) if part.strip()]
    return "\n\n".join(parts) or None


def user_message(persona: Persona, inputs: Json, agent: str) -> str:
    """Render the prompt; without one, return `input` as text or JSON.

    Raises:
        AgentRefused: The choice of prompt is ambiguous, or there is nothing to ask.
        TemplateFailed: The prompt names a missing value, or is blank when rendered.
    """
    name = prompt_name(persona, agent)
    if name is None:
        return _input_itself(inputs, agent)
    filled = _fill_prompt(persona.prompts[name], persona, inputs)
    if not filled.strip():
        raise TemplateFailed(f"prompt {name!r} is blank after rendering")
    return filled


def prompt_name(persona: Persona, agent: str) -> str | None:
    """Return the name of the prompt to ask.

    Returns:
        None when the persona has no such prompt: its input is the message.

    Raises:
        AgentRefused: The named prompt does not exist, or there are several and none is named.
    """
    match choose_prompt(persona.prompts, persona.prompt):
        case ChosenPrompt(name):
            return name
        case NoPrompt():
            return None
        case UnknownPrompt(name, prompts):
            raise AgentRefused(
                f"agent {agent!r} uses prompt {name!r}, which its persona does not have; "
                f"it has: {listed(prompts)}"
            )
        case AmbiguousPrompt(names):
            raise AgentRefused(
                f"the persona of agent {agent!r} has several prompts ({listed(names)}); "
                "select one with `prompt: <name>`"
            )


def _fill_prompt(text: str, persona: Persona, inputs: Json) -> str:
    if "{" not in text:
        return text
    if persona.prompt_syntax == "braces":
        value = inputs.get("input")
        text = braces_to_template(text, value.keys() if isinstance(value, dict) else ())
    names: dict[str, object] = {"flags": persona.flags or {}, **inputs}
    return fill_text(text, Names(names, meter_of(inputs)))


def _input_itself(inputs: Json, agent: str) -> str:
    value = inputs.get("input")
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=2)
    if value is None or not text.strip():
        raise AgentRefused(
            f"agent {agent!r} has nothing to ask: add a prompt besides `system` to its "
            "persona, or an `input` to its task"
        )
    return text
