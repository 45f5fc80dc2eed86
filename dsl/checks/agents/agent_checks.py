"""Checks that an agent step names its agent: a type and a persona, or a legacy class."""

from collections.abc import Collection

from coterie.dsl.model.capabilities import Capabilities
from coterie.dsl.model.plan import Persona
from coterie.dsl.model.steps import AgentStep
from coterie.dsl.model_names import split_model
from coterie.dsl.source.collected_problems import Problems
from coterie.dsl.source.nodes import Node, Place
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
        problems.report(persona_key_missing(), Place(tree.find(path).at, key_path))
        return False
    listed = (*path, "personas")
    is_chosen = is_template(step.persona_key)
    if is_chosen and not step.personas:
        problems.report(personas_missing(step.name), tree.value_at(key_path))
    elif step.personas and not is_chosen:
        details = personas_without_template(step.name, step.persona_key)
        problems.report(details, tree.key_at(listed))
    for index, name in enumerate(step.personas):
        if name in step.personas[:index]:
            where = (*listed, index)
            problems.report(persona_listed_twice(name), tree.key_at(where))
    return is_chosen == bool(step.personas)


def _agent_type(
    step: AgentStep, path: NodePath, capabilities: Capabilities, tree: Node, problems: Problems
) -> None:
    known = (*capabilities.agent_types, *capabilities.agent_paths)
    if step.agent_type is None or step.agent_type in known:
        return
    key_path = (*path, "agent_type")
    if step.agent_type in capabilities.skills:
        problems.report(skill_as_agent(step.agent_type, known), tree.value_at(key_path))
        return
    if ":" not in step.agent_type:
        unknown(problems, tree.value_at(key_path), "agent type", step.agent_type, known)


def check_legacy(step: AgentStep, path: NodePath, tree: Node, problems: Problems) -> None:
    """Note the keys that contradict an `agent_class`."""
    if step.agent_type is not None or step.persona_key is not None or step.personas:
        problems.report(
            two_forms_of_agent(step.name), Place(tree.find((*path, "agent_class")).at, path)
        )
    if step.config is not None:
        problems.report(config_of_legacy(step.name), tree.key_at((*path, "config")))


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
        provider, model = split_model(name)
        if name == UNREADABLE:
            continue
        if not provider or not model:
            problems.report(fallback_not_a_model(name), tree.value_at(key_path))
        elif provider not in providers:
            unknown(problems, tree.value_at(key_path), "provider", provider, providers)
        elif name in seen:
            problems.report(fallback_named_twice(name), tree.value_at(key_path))
        seen.add(name)
