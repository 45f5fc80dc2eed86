"""Checks of the models that take over when a persona's own does not answer."""

from collections.abc import Collection

from dsl.model.plan import Persona
from dsl.model_names import split_model
from dsl.source.nodes import Node, Problems
from dsl.source.unknown_names import unknown
from dsl.values import UNREADABLE, NodePath
from dsl.wording.agents.fallback_wording import fallback_named_twice, fallback_not_a_model


def check_fallback(
    persona: Persona, providers: Collection[str], path: NodePath, tree: Node, problems: Problems
) -> None:
    """Note entries without a provider or a model, unknown providers, and repeated models.

    Args:
        persona: With its own model.
        providers: The names that the worker knows.
        path: Where the list is written.
        tree: The document.
        problems: Collects the findings.
    """
    seen = {f"{persona.provider}/{persona.model}"}
    for index, name in enumerate(persona.fallback):
        place = (*path, index)
        mark = tree.find(place).mark
        provider, model = split_model(name)
        if name == UNREADABLE:
            continue
        if not provider or not model:
            problems.note("E105", mark, place, fallback_not_a_model(name))
        elif provider not in providers:
            unknown(problems, mark, place, "E205", "provider", provider, providers)
        elif name in seen:
            problems.note("E208", mark, place, fallback_named_twice(name))
        seen.add(name)
