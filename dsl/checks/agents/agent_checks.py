"""Checks that an agent step names its agent: a type and a persona, or a legacy class."""

from collections.abc import Collection

from coterie.dsl.errors import listed
from coterie.dsl.model.capabilities import Capabilities
from coterie.dsl.model.document import SystemDocument
from coterie.dsl.model.plan import Persona
from coterie.dsl.model.plan_key import can_be_persona
from coterie.dsl.model.steps import PersonaStep
from coterie.dsl.model_names import split_model
from coterie.dsl.problem_details import ProblemText, rule
from coterie.dsl.problem_texts import called
from coterie.dsl.source.collected_problems import Problems
from coterie.dsl.source.nodes import Node
from coterie.dsl.source.unknown_names import unknown
from coterie.dsl.templates.template import is_template
from coterie.dsl.values import UNREADABLE, NodePath


def check_agent_keys(
    step: PersonaStep, path: NodePath, capabilities: Capabilities, tree: Node, problems: Problems
) -> bool:
    """Return whether the step names its personas; note what it lacks, and an unknown type."""
    named = _personas(step, path, tree, problems)
    _agent_type(step, path, capabilities, tree, problems)
    return named


@rule("E102")
def personas_missing(step: str) -> ProblemText:
    return ProblemText(
        f"the persona of {called(step, 'the task')} is a template, so nothing can be checked",
        fix="list the personas that it may choose: `personas: [...]`",
    )


@rule("E107")
def personas_without_template(step: str, key: str) -> ProblemText:
    return ProblemText(
        f"{called(step, 'the task')} lists `personas`, but its persona_key {key!r} is not a "
        "template",
        fix="write a template in `persona_key`, or remove `personas`",
    )


@rule("E105")
def persona_listed_twice(name: str) -> ProblemText:
    return ProblemText(f"the persona {name!r} is listed twice", fix="remove one of them")


def _personas(step: PersonaStep, path: NodePath, tree: Node, problems: Problems) -> bool:
    """Return whether it is clear which personas the step can have."""
    key_path = (*path, "persona_key")
    if step.persona_key == UNREADABLE:
        return False
    listed = (*path, "personas")
    is_chosen = is_template(step.persona_key)
    if is_chosen and not step.personas:
        problems.report(personas_missing(step.name), tree.value_at(key_path))
    elif step.personas and not is_chosen:
        problems.report(personas_without_template(step.name, step.persona_key), tree.key_at(listed))
    for index, name in enumerate(step.personas):
        if name in step.personas[:index]:
            where = (*listed, index)
            problems.report(persona_listed_twice(name), tree.key_at(where))
    return is_chosen == bool(step.personas)


@rule("E203")
def function_as_agent(name: str, agent_types: Collection[str]) -> ProblemText:
    return ProblemText(
        f"{name!r} is a tool function, and a task needs an agent type",
        listed(agent_types),
        "call the tool function from an execution plan",
    )


def _agent_type(
    step: PersonaStep, path: NodePath, capabilities: Capabilities, tree: Node, problems: Problems
) -> None:
    agent_types = (*capabilities.agent_types, *capabilities.agent_paths)
    if step.agent_type is None or step.agent_type in agent_types:
        return
    key_path = (*path, "agent_type")
    if step.agent_type in capabilities.functions:
        problems.report(function_as_agent(step.agent_type, agent_types), tree.value_at(key_path))
        return
    if ":" not in step.agent_type:
        unknown(problems, tree.value_at(key_path), "agent type", step.agent_type, agent_types)


@rule("E105")
def fallback_not_a_model(name: str) -> ProblemText:
    return ProblemText(
        f"`fallback` names models as `provider/model`, and {name!r} has no provider or no model",
        fix="write both, such as `openai/gpt-5.2`",
    )


@rule("E208")
def fallback_named_twice(name: str) -> ProblemText:
    return ProblemText(
        f"the agent asks {name!r} already before this fallback", fix="remove the entry"
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
    models = {f"{persona.provider}/{persona.model}"}
    for index, name in enumerate(persona.fallback):
        key_path = (*path, index)
        provider, model = split_model(name)
        if name == UNREADABLE:
            continue
        if not provider or not model:
            problems.report(fallback_not_a_model(name), tree.value_at(key_path))
        elif provider not in providers:
            unknown(problems, tree.value_at(key_path), "provider", provider, providers)
        elif name in models:
            problems.report(fallback_named_twice(name), tree.value_at(key_path))
        models.add(name)


@rule("E105")
def persona_name_refused(name: str) -> ProblemText:
    return ProblemText(
        f"no persona can be called {name!r}",
        "a name without @, which separates a persona from the task whose `config` it has",
        f"write {name.replace('@', '_')!r}, also where it is used",
    )


def check_persona_names(document: SystemDocument, tree: Node, problems: Problems) -> None:
    """Note each persona whose name would read as that of a persona with a task's `config`."""
    for name in document.llm_config.personas:
        if not can_be_persona(name):
            path = ("llm_config", "personas", name)
            problems.report(persona_name_refused(name), tree.key_at(path))
