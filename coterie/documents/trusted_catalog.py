"""Determine what a worker of the shared queue may touch: system files and the project's overrides.

The shipped system file comes first, then the project's own, last `coterie.yml`. A document may
configure a provider differently, for example with its own script of answers; its runs then use a
name of their own, `scripted@development`, so that documents never affect each other.
"""

from collections.abc import Iterable
from shlex import quote

from coterie.documents.catalog import Catalog, Located, shown
from coterie.documents.worker_trust import TrustedConfig, absolute_providers, resolved
from coterie.dsl.analysis.findings import with_needs
from coterie.dsl.compile.compiler import Compiled, SourceText
from coterie.dsl.compile.shapes import parse_document
from coterie.dsl.errors import InvalidDocument
from coterie.dsl.model.document import SystemDocument
from coterie.dsl.model.plan import Plan
from coterie.dsl.model.sections.provider_document import ProviderSection
from coterie.dsl.model.sections.worker_document import WorkerSection
from coterie.dsl.normalise.forms import normalised
from coterie.dsl.source.collected_problems import Problems
from coterie.dsl.source.nodes import Mark, Node, overlaid
from coterie.dsl.source.yaml_reader import read
from coterie.settings import OVERRIDE_FILE, Settings
from coterie.terminal import note

_NOTHING_SAID = Node({}, Mark(OVERRIDE_FILE, 1, 1))


def trusted_catalog(settings: Settings, catalog: Catalog, workspace: str | None) -> TrustedConfig:
    """Build the effective sections for all documents of the catalog.

    Raises:
        InvalidDocument: A system file or `coterie.yml` is invalid.
        CommandError: The workspace is not a folder.
    """
    document, tree = _sections(catalog.worker_sources())
    worker = document.worker or WorkerSection()
    shared_config = resolved(worker, dict(document.llm_config.providers), tree, settings, workspace)
    scoped_sections: dict[str, ProviderSection] = {}
    for located in catalog.all():
        for name, section in _own_providers(located, catalog, settings).items():
            if shared_config.providers.get(name) != section:
                scoped_sections[_scoped_name(name, located.name)] = section
    return shared_config.model_copy(update={"scoped": scoped_sections})


def trusted_document(
    settings: Settings, sources: Iterable[SourceText], workspace: str | None
) -> TrustedConfig:
    """Build the effective sections for one document, which need not compile.

    Raises:
        InvalidDocument: One of these sections is invalid.
        CommandError: The workspace is not a folder.
    """
    document, tree = _sections(sources)
    worker = document.worker or WorkerSection()
    return resolved(worker, dict(document.llm_config.providers), tree, settings, workspace)


def scope_providers(
    plan: Plan, name: str, own: dict[str, ProviderSection], trusted: TrustedConfig
) -> Plan:
    """Rename a document's own providers in its plan where they differ from the shared ones.

    Args:
        plan: Compiled from a document of the catalog.
        name: Name of the document.
        own: Its providers, with absolute paths.
        trusted: The worker's configuration.
    """
    scoped_names = {
        provider: _scoped_name(provider, name)
        for provider, section in own.items()
        if trusted.providers.get(provider) != section
    }
    personas = {
        key: persona.model_copy(
            update={"provider": scoped_names.get(persona.provider, persona.provider)}
        )
        for key, persona in plan.personas.items()
    }
    return plan.model_copy(update={"personas": personas}).with_digest()


def plan_of_worker(compiled: Compiled, name: str, settings: Settings, catalog: Catalog) -> Plan:
    """Return the plan that a worker of this project makes of a document when it is started by name.

    Args:
        compiled: The document.
        name: Its name in the catalog.
        settings: Of the project.
        catalog: Of the project.

    Raises:
        InvalidDocument: A system file or `coterie.yml` is invalid.
        CommandError: The workspace is not a folder.
    """
    own = absolute_providers(compiled.providers, compiled.tree, settings)
    trusted = trusted_document(settings, catalog.worker_sources(), None)
    return scope_providers(with_needs(compiled).plan, name, own, trusted)


def _scoped_name(provider: str, document: str) -> str:
    return f"{provider}@{document}"


def _own_providers(
    located: Located, catalog: Catalog, settings: Settings
) -> dict[str, ProviderSection]:
    """Return a document's own providers; if it is invalid, log that and return none."""
    try:
        sources = catalog.sources(located)
        document, tree = _sections(sources)
    except InvalidDocument as error:
        note(
            f"{located.name} cannot be served: {error.problems[0].message} "
            f"(coterie validate {quote(str(located.file))})"
        )
        return {}
    file = shown(located.file, settings)
    if any(source.file == file and _says_worker(source) for source in sources):
        note(
            f"{file} has a `worker` section, which only `coterie run` uses; for this "
            f"worker, use {OVERRIDE_FILE}"
        )
    return absolute_providers(dict(document.llm_config.providers), tree, settings)


def _says_worker(source: SourceText) -> bool:
    return read(source.text, source.file).child("worker") is not None


def _sections(sources: Iterable[SourceText]) -> tuple[SystemDocument, Node]:
    """Merge only the `worker` and `llm_config.providers` sections of the documents."""
    merged_node = _NOTHING_SAID
    for source in sources:
        if source.persona is None and not source.included:
            merged_node = overlaid(merged_node, _trusted_part(read(source.text, source.file)))
    problems = Problems()
    document, tree = parse_document(normalised(merged_node, problems), problems)
    if document is None or problems.errors:
        raise InvalidDocument(problems.errors)
    return document, tree


def _trusted_part(tree: Node) -> Node:
    part: dict[str, Node] = {}
    worker = tree.child("worker")
    if worker is not None:
        part["worker"] = worker
    llm_config = tree.child("llm_config")
    providers = tree.get(("llm_config", "providers"))
    if llm_config is not None and providers is not None:
        part["llm_config"] = llm_config.with_value({"providers": providers})
    return tree.with_value(part)
