"""Checks that an agent step names its agent: a type and a persona, or a legacy class."""

from collections.abc import Collection

from coterie.dsl.model.capabilities import Capabilities
from coterie.dsl.model.plan import Persona
from coterie.dsl.model.steps import AgentStep
from coterie.dsl.model_names import split_model
from coterie.dsl.source.collected_problems import Problems
from coterie.dsl.source.nodes import Node
from coterie.dsl.source.unknown_names import unknown
from coterie.dsl.templates.template import is_template
from coterie.dsl.values import UNREADABLE, NodePath
from coterie.dsl.wording.agent_wording import (
    config_of_legacy,
    persona_key_missing,
    persona_listed_twice,
    personas_missing,
    personas_without_template,
    skill_as_agent,
    two_forms_of_agent,
)
from coterie.dsl.wording.agents.fallback_wording import fallback_named_twice, fallback_not_a_model


def check_agent_keys(
    step: AgentStep, path: NodePath, capabilities: Capabilities, tree: Node, problems: Problems
) -> bool:
    """Return whether the step names its personas; note what it lacks, and an unknown type."""
    named = _personas(step, path, tree, problems)
    _agent_type(step, path, capabilities, tree, problems)
    return named


def _personas(step: AgentStep, path: NodePath, tree: Node, problems: Problems) -> bool:
    """Return whether it is clear which personas the step can have."""
    key_path = (*path, "persona_key")
    if step.persona_key is None:
        problems.note("E102", tree.find(path).at, key_path, persona_key_missing())
        return False
    listed = (*path, "personas")
    is_chosen = is_template(step.persona_key)
    if is_chosen and not step.personas:
        problems.note("E102", tree.find(key_path).mark, key_path, personas_missing(step.name))
    elif step.personas and not is_chosen:
        details = personas_without_template(step.name, step.persona_key)
        problems.note("E107", tree.find(listed).at, listed, details)
    for index, name in enumerate(step.personas):
        if name in step.personas[:index]:
            where = (*listed, index)
            problems.note("E105", tree.find(where).at, where, persona_listed_twice(name))
    return is_chosen == bool(step.personas)


def _agent_type(
    step: AgentStep, path: NodePath, capabilities: Capabilities, tree: Node, problems: Problems
) -> None:
    known = (*capabilities.agent_types, *capabilities.agent_paths)
    if step.agent_type is None or step.agent_type in known:
        return
    key_path = (*path, "agent_type")
    mark = tree.find(key_path).mark
    if step.agent_type in capabilities.skills:
        problems.note("E203", mark, key_path, skill_as_agent(step.agent_type, known))
        return
    if ":" not in step.agent_type:
        unknown(problems, mark, key_path, "E203", "agent type", step.agent_type, known)


def check_legacy(step: AgentStep, path: NodePath, tree: Node, problems: Problems) -> None:
    """Note the keys that contradict an `agent_class`."""
    if step.agent_type is not None or step.persona_key is not None or step.personas:
        problems.note(
            "E107", tree.find((*path, "agent_class")).at, path, two_forms_of_agent(step.name)
        )
    if step.config is not None:
        problems.note(
            "E108", tree.find((*path, "config")).at, (*path, "config"), config_of_legacy(step.name)
        )


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
        key_path = (*path, index)
        mark = tree.find(key_path).mark
        provider, model = split_model(name)
        if name == UNREADABLE:
            continue
        if not provider or not model:
            problems.note("E105", mark, key_path, fallback_not_a_model(name))
        elif provider not in providers:
            unknown(problems, mark, key_path, "E205", "provider", provider, providers)
        elif name in seen:
            problems.note("E208", mark, key_path, fallback_named_twice(name))
        seen.add(name)
