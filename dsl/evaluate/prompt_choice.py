"""Which of a persona's prompts an agent asks, and the persona with that prompt alone.

The one that `prompt` names, else `user`, else the only one besides `system`.
"""

from collections.abc import Collection
from dataclasses import dataclass

from coterie.dsl.model.plan import Persona
from coterie.dsl.model.steps import PersonaStep

SYSTEM = "system"
USER = "user"


@dataclass(frozen=True, slots=True)
class ChosenPrompt:
    """The prompt to ask."""

    name: str


@dataclass(frozen=True, slots=True)
class UnknownPrompt:
    """The named prompt does not exist."""

    name: str
    known: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class AmbiguousPrompt:
    """There are several prompts and none is named."""

    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class NoPrompt:
    """There is none besides `system`: the agent's input is the message."""


PromptChoice = ChosenPrompt | UnknownPrompt | AmbiguousPrompt | NoPrompt


def snapshot(persona: Persona, step: PersonaStep) -> Persona:
    """Return the persona as the agent receives it: its system prompt, and the one it asks."""
    prompt_key = asked_prompt(persona.prompts, step.prompt or persona.prompt)
    prompts = {key: text for key, text in persona.prompts.items() if key in (SYSTEM, prompt_key)}
    named = prompt_key if prompt_key == SYSTEM else None  # the only other prompt needs no name
    fields = {
        "prompts": prompts,
        "prompt": named,
        "execution_plan": None,
        "hooks": (),
        "fallback": (),
    }
    return persona.model_copy(update=fields)


def choose_prompt(prompts: Collection[str], named: str | None) -> PromptChoice:
    """Choose the prompt to ask.

    Args:
        prompts: The names of the persona's prompts.
        named: `prompt` of the task, else of the persona.
    """
    askable = tuple(name for name in prompts if name != SYSTEM)
    if named is not None:
        return ChosenPrompt(named) if named in prompts else UnknownPrompt(named, askable)
    if USER in askable:
        return ChosenPrompt(USER)
    match askable:
        case ():
            return NoPrompt()
        case (only,):
            return ChosenPrompt(only)
        case _:
            return AmbiguousPrompt(askable)


def asked_prompt(prompts: Collection[str], named: str | None) -> str | None:
    """Return the name of the prompt to ask, or None if there is none or the choice is ambiguous."""
    choice = choose_prompt(prompts, named)
    return choice.name if isinstance(choice, ChosenPrompt) else None
