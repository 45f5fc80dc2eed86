"""Compile a deployed version, for who shows or starts it."""

from coterie.deployed.proposals import sources_beneath
from coterie.deployed.registry import DeployedVersion
from coterie.documents.catalog import Catalog, Located
from coterie.documents.compilation import compile_located
from coterie.dsl.analysis.findings import with_needs
from coterie.dsl.compile.compiler import Compiled


def compile_version(
    catalog: Catalog, version: DeployedVersion, *, only_shown: bool = True
) -> Compiled:
    """Compile a version over what the project has of its own, with what a start must give.

    Args:
        catalog: Of the project.
        version: What was deployed.
        only_shown: Whether its plan is not run here, so that the worker's parts need not exist.

    Raises:
        InvalidDocument: The project lacks what it needs, such as a provider.
        CommandError: A package of tools cannot be used.
    """
    files = version.content.files
    own_file = catalog.settings.project / (files[-1].file if files else version.team)
    located = catalog.named(version.team) or Located(version.team, own_file, None)
    sources = (
        *sources_beneath(catalog, located),
        *version.content.sources,
        *catalog.override(),
    )
    return with_needs(compile_located(catalog, located, only_shown=only_shown, instead=sources))
