"""The fields of a persona that make an agent, as plain values."""

from typing import cast

from dsl.model.steps import (
    PersonaDocument,
)
from dsl.values import Json


def without_nulls(persona: Json) -> Json:
    """What a null takes away is not there, at the top and among the prompts."""
    kept: Json = {key: value for key, value in persona.items() if value is not None}
    prompts = kept.get("prompts")
    if isinstance(prompts, dict):
        kept["prompts"] = {key: text for key, text in prompts.items() if text is not None}
    return kept


def plain_persona(persona: PersonaDocument) -> Json:
    """The fields that make an agent; budgets are the run's affair."""
    plain = persona.model_dump(mode="json", exclude_unset=True, by_alias=True, exclude={"budgets"})
    return cast("Json", plain)
