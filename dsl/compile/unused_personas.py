"""Checks of the personas that no task uses, so that no mistake stays hidden."""

from collections.abc import Collection
from dataclasses import replace

from dsl.checks.agents.prompt_checks import check_syntax
from dsl.checks.agents.streaming_checks import check_reasks
from dsl.checks.format_checks import check_answer_schema
from dsl.checks.steps.step_checks import check_steps
from dsl.compile.merged_personas import PERSONAS
from dsl.compile.persona_checks import PersonaChecks
from dsl.model.plan import Persona
from dsl.model.steps import PersonaDocument
from dsl.source.unknown_names import unknown
from dsl.values import NodePath


def check_unused_personas(checks: PersonaChecks, used: Collection[str], model: str | None) -> None:
    """Report the problems of personas that every task using them would have.

    Args:
        checks: of the document's personas.
        used: the keys of those that an agent uses.
        model: of every persona instead of its own, if one is set.
    """
    for key, persona in checks.document.llm_config.personas.items():
        if key in used:
            continue
        path = (*PERSONAS, key)
        if model is None:
            _check_written_model(checks, persona, path)
        _check_persona(checks, persona, path)


def _check_persona(checks: PersonaChecks, persona: PersonaDocument, path: NodePath) -> None:
    tree, problems = checks.tree, checks.problems
    check_answer_schema(persona.output_schema, (*path, "output_schema"), tree, problems)
    if persona.stream:
        reasks = Persona.model_fields["max_reasks"].default
        reasks = reasks if persona.max_reasks is None else persona.max_reasks
        check_reasks(persona.output_schema, reasks, (*path, "stream"), tree, problems)
    check_syntax(
        tree,
        problems,
        persona.prompts or {},
        persona.prompt_syntax,
        lambda key: (*path, "prompts", key),
    )
    if persona.execution_plan is not None:
        scope = checks.plan_scope(persona.execution_plan, (*path, "execution_plan"))
        # The personas of a catalog serve many projects, and each has commands of its own.
        unknown_here = {"commands": None, "channels": None}
        known = checks.capabilities.model_copy(update=unknown_here)
        check_steps(replace(scope, capabilities=known))


def _check_written_model(checks: PersonaChecks, persona: PersonaDocument, path: NodePath) -> None:
    """Check the provider and the model that a persona names itself, without defaults."""
    tree, problems, llm = checks.tree, checks.problems, checks.document.llm_config
    providers, written = checks.capabilities.providers, persona.provider
    if written is not None and written not in providers:
        where = (*path, "provider")
        mark = tree.find(where).mark
        unknown(problems, mark, where, "E205", "provider", written, providers)
        return
    section = llm.providers.get(str(llm.defaults.choose(written, persona.model).provider))
    valid = section.valid_models if section is not None else ()
    if persona.model is not None and valid and persona.model not in valid:
        where = (*path, "model")
        unknown(problems, tree.find(where).mark, where, "E105", "model", persona.model, valid)
