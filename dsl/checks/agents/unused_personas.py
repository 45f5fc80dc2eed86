"""Checks of personas that no task uses: only what holds for every user."""

from collections.abc import Collection

from dsl.model.sections.provider_document import LlmConfig
from dsl.model.steps import PersonaDocument
from dsl.source.nodes import Node, Problems
from dsl.source.unknown_names import unknown
from dsl.values import NodePath


def check_written_model(
    persona: PersonaDocument,
    place: NodePath,
    llm: LlmConfig,
    providers: Collection[str],
    tree: Node,
    problems: Problems,
) -> None:
    """Check the provider and the model that a persona names itself, without defaults.

    Args:
        persona: the section as written.
        place: where it is written.
        llm: the section that contains it.
        providers: those that the worker has.
        tree: of the document.
        problems: collects the findings.
    """
    written = persona.provider
    if written is not None and written not in providers:
        where = (*place, "provider")
        mark = tree.find(where).mark
        unknown(problems, mark, where, "E205", "provider", written, providers)
        return
    section = llm.providers.get(str(llm.defaults.choose(written, persona.model).provider))
    valid = section.valid_models if section is not None else ()
    if persona.model is not None and valid and persona.model not in valid:
        where = (*place, "model")
        unknown(problems, tree.find(where).mark, where, "E105", "model", persona.model, valid)
