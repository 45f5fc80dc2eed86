"""From a persona and the inputs of one turn to the texts that a model reads."""

import json

from activities.agents.refusals import AgentRefused
from dsl.errors import TemplateFailed, listed
from dsl.model.evaluation_budget import Names, meter_of
from dsl.model.plan import Persona
from dsl.templates.template import braces_to_template, fill_text
from dsl.values import Json

SYSTEM = "system"
USER = "user"


def system_message(persona: Persona, inputs: Json) -> str | None:
    """The system prompt, filled; None when the persona has none or it is blank.

    Raises:
        TemplateFailed: it names what the inputs do not have.
    """
    text = persona.prompts.get(SYSTEM)
    filled = _filled(text, persona, inputs) if text else ""
    return filled if filled.strip() else None


def user_message(persona: Persona, inputs: Json, agent: str) -> str:
    """The prompt to ask, filled; without any prompt, `input` as text or JSON.

    Raises:
        AgentRefused: it is not clear which prompt to ask, or there is nothing to ask.
        TemplateFailed: the prompt names what the inputs do not have, or is blank when filled.
    """
    name = prompt_name(persona, agent)
    if name is None:
        return _input_itself(inputs, agent)
    filled = _filled(persona.prompts[name], persona, inputs)
    if not filled.strip():
        raise TemplateFailed(f"prompt {name!r} is blank once it is filled")
    return filled


def prompt_name(persona: Persona, agent: str) -> str | None:
    """Which prompt is asked: `prompt`, else `user`, else the only one beside `system`.

    Returns:
        None when the persona has no prompt to ask: its input is the message.

    Raises:
        AgentRefused: the named prompt does not exist, or there are several and none is named.
    """
    askable = [name for name in persona.prompts if name != SYSTEM]
    if persona.prompt is not None:
        if persona.prompt in persona.prompts:
            return persona.prompt
        raise AgentRefused(
            f"agent {agent!r} asks prompt {persona.prompt!r}, which its persona does not have; "
            f"it has: {listed(askable)}"
        )
    if USER in askable:
        return USER
    if len(askable) > 1:
        raise AgentRefused(
            f"the persona of agent {agent!r} has several prompts ({listed(askable)}); "
            "say which one is asked: `prompt: <name>`"
        )
    return askable[0] if askable else None


def _filled(text: str, persona: Persona, inputs: Json) -> str:
    if persona.prompt_syntax == "braces":
        given = inputs.get("input")
        text = braces_to_template(text, given.keys() if isinstance(given, dict) else ())
    names: dict[str, object] = {"flags": persona.flags or {}, **inputs}
    return fill_text(text, Names(names, meter_of(inputs)))


def _input_itself(inputs: Json, agent: str) -> str:
    value = inputs.get("input")
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=2)
    if value is None or not text.strip():
        raise AgentRefused(
            f"agent {agent!r} has nothing to ask: give its persona a prompt besides "
            "`system`, or its task an `input`"
        )
    return text
