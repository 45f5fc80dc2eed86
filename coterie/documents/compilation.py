"""Compile the document that a person named, with what its worker may touch."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from shlex import quote
from typing import NamedTuple

from coterie.documents.catalog import Catalog, Located
from coterie.documents.model_windows import known_window
from coterie.documents.price_lists import known_price
from coterie.documents.product_capabilities import capabilities, finds_sandbox
from coterie.documents.server_listings import compared_listings
from coterie.documents.tool_packages import known_functions, packages_in
from coterie.documents.worker_trust import TrustedConfig, resolved
from coterie.dsl.analysis.findings import Analysis, analysed, warnings, with_needs
from coterie.dsl.compile.compiler import Compiled, SourceText, compile_sources
from coterie.dsl.errors import InvalidContext
from coterie.dsl.evaluate.context import lacking_context
from coterie.dsl.evaluate.declared_values import started
from coterie.dsl.model.capabilities import FunctionContract
from coterie.dsl.model.plan import DeclaredPath
from coterie.dsl.strict_json import unsound_part
from coterie.dsl.values import Json
from coterie.failures import CommandError
from coterie.settings import Settings
from coterie.terminal import note
from coterie.text.problems import counted

HOW_TO_SET = "set it with `--set PATH=VALUE` or `--context @FILE`"


class CompiledDocument(NamedTuple):
    """A compiled document of this machine, whose own sections are trusted."""

    located: Located
    compiled: Compiled
    trusted: TrustedConfig


def compile_located(
    catalog: Catalog,
    located: Located,
    model: str | None = None,
    functions: Mapping[str, FunctionContract] | None = None,
    override: Path | None = None,
    *,
    only_shown: bool = False,
    instead: Sequence[SourceText] | None = None,
) -> Compiled:
    """Compile the document with everything that it inherits.

    Args:
        catalog: Where its parts are.
        located: The document.
        model: `provider/model` for every persona instead of its own.
        functions: Tool functions that do not exist yet, by name.
        override: A file laid over everything else, like `coterie.yml`.
        only_shown: It is not run here, so the worker's commands and channels need not exist.
        instead: The sources, if they are not those that the catalog finds now.

    Raises:
        InvalidDocument: With every problem.
        CommandError: A package of tools cannot be used.
    """
    over = () if override is None else catalog.file_sources(override)
    sources = (*(catalog.sources(located) if instead is None else instead), *over)
    base_functions = known_functions(catalog.settings, packages_in(sources))
    known_capabilities = capabilities(
        agent_packages=(),  # the project's own files declare them
        provider_packages=(),
        functions={**base_functions, **(functions or {})},
        server_listings=compared_listings(catalog.settings),
        sandboxed=finds_sandbox(catalog.settings, sources),
    ).model_copy(update={"decides": not only_shown})
    return compile_sources(
        sources,
        known_capabilities,
        name=located.name,
        model=model,
        pricing=known_price,
        windows=known_window,
    )


def print_warnings(target: str, compiled: Compiled) -> Analysis:
    """Point to the warnings of `coterie validate`, for which a run does not wait.

    Returns:
        The analysis of the document.
    """
    analysis = analysed(compiled)
    problems = warnings(compiled, analysis)
    if problems:
        note(
            f"{target}: {counted(len(problems), 'warning')}, see `coterie validate {quote(target)}`"
        )
    return analysis


def startable(
    compiled: Compiled,
    context: Json,
    *,
    analysis: Analysis | None = None,
    how: str = HOW_TO_SET,
) -> Compiled:
    """Check that the context has what the plan requires at the start, and record it there.

    Args:
        compiled: The document.
        context: As given.
        analysis: Of the document, if it is already analysed.
        how: How to give what is missing.

    Raises:
        CommandError: The context lacks something, or JSON cannot carry it.
    """
    compiled = with_needs(compiled, analysis)
    check_start(context, compiled.plan.context, compiled.plan.needs, how=how)
    return compiled


def check_start(
    context: Json, declared: Mapping[str, DeclaredPath], needs: Mapping[str, str], *, how: str
) -> None:
    """Check that a context is one with which a team can start.

    Args:
        context: As given.
        declared: What the team declares of its context.
        needs: `{path of the context: the step that reads it first}`.
        how: How to give what is missing.

    Raises:
        CommandError: The context lacks something, or JSON cannot carry it.
    """
    unsound = unsound_part(context)
    if unsound is not None:
        raise CommandError(f"in the context, {unsound}")
    try:
        started(context, declared)
    except InvalidContext as error:
        raise CommandError(f"{error}; {how}") from None
    lacking = lacking_context(needs, context)
    if lacking is not None:
        raise CommandError(f"{lacking}; {how}")


def compile_target(
    settings: Settings,
    target: str,
    *,
    model: str | None = None,
    workspace: str | None = None,
    functions: Mapping[str, FunctionContract] | None = None,
    override: Path | None = None,
) -> CompiledDocument:
    """Find and compile the document that a person named.

    Args:
        settings: Environment of the command.
        target: A file's path or a team's name.
        model: `provider/model` for every persona instead of its own.
        workspace: The folder that tool functions may touch, instead of the document's.
        functions: Tool functions that do not exist yet, by name.
        override: A file laid over everything else, like `coterie.yml`.

    Raises:
        InvalidDocument: With every problem.
        CommandError: The workspace is not a folder.
    """
    catalog = Catalog(settings)
    located = catalog.locate(target)
    compiled = compile_located(catalog, located, model, functions, override)
    trusted = resolved(compiled.worker, compiled.providers, compiled.tree, settings, workspace)
    return CompiledDocument(located, compiled, trusted)
