"""The fields of a persona that configure its agent, as plain values."""

from typing import cast

from dsl.model.steps import (
    PersonaDocument,
)
from dsl.values import Json


def without_nulls(persona: Json) -> Json:
    """Drop nulls at the top and among the prompts: null deletes a key."""
    kept: Json = {key: value for key, value in persona.items() if value is not None}
    prompts = kept.get("prompts")
    if isinstance(prompts, dict):
        kept["prompts"] = {key: text for key, text in prompts.items() if text is not None}
    return kept


def plain_persona(persona: PersonaDocument) -> Json:
    """Return the fields that configure the agent; its budgets belong to the run."""
    plain = persona.model_dump(mode="json", exclude_unset=True, by_alias=True, exclude={"budgets"})
    return cast("Json", plain)
