"""From what a person names to a plan, and to what the worker beside it may touch."""

from typing import NamedTuple

from coterie.documents.catalog import Catalog, Located
from coterie.documents.price_lists import has_price
from coterie.documents.product_capabilities import capabilities
from coterie.documents.worker_trust import TrustedConfig, resolved
from coterie.failures import CommandError
from coterie.settings import Settings
from dsl.analysis.findings import with_needs
from dsl.compile.compiler import Compiled, compile_sources
from dsl.evaluate.context import lacking_context
from dsl.values import Json


class CompiledDocument(NamedTuple):
    """A document of this machine, compiled; here its own sections are trusted."""

    located: Located
    compiled: Compiled
    trusted: TrustedConfig


def compile_located(catalog: Catalog, located: Located, model: str | None = None) -> Compiled:
    """The document and what it is laid over, compiled.

    Raises:
        InvalidDocument: with every problem.
    """
    return compile_sources(
        catalog.sources(located),
        capabilities(agent_packages=()),  # what the project says is in its own files
        name=located.name,
        model=model,
        pricing=has_price,
    )


def startable(compiled: Compiled, context: Json) -> Compiled:
    """The document, its plan saying what a start has to give, which the context does.

    Raises:
        CommandError: the context lacks something.
    """
    compiled = with_needs(compiled)
    lacking = lacking_context(compiled.plan.needs, context)
    if lacking is not None:
        raise CommandError(f"{lacking}; give it with `--set PATH=VALUE` or `--context FILE`")
    return compiled


def compile_target(
    settings: Settings, target: str, *, model: str | None = None, workspace: str | None = None
) -> CompiledDocument:
    """Find and compile what a person named.

    Args:
        settings: where they are.
        target: a file's path or a team's name.
        model: `provider/model` for every persona instead of its own.
        workspace: the folder that skills may touch, instead of the document's.

    Raises:
        InvalidDocument: with every problem.
        CommandError: the workspace is no folder.
    """
    catalog = Catalog(settings)
    located = catalog.locate(target)
    compiled = compile_located(catalog, located, model)
    trusted = resolved(compiled.worker, compiled.providers, compiled.tree, settings, workspace)
    return CompiledDocument(located, compiled, trusted)
