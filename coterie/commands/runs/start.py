"""`coterie start`: start a run for workers elsewhere and print its id."""

from argparse import ArgumentParser, Namespace
from functools import partial

from coterie.argument_values import read_context
from coterie.arguments import add_context, add_model, add_target
from coterie.deployed.named_starts import check_context, start_named
from coterie.deployed.registry import DeployedVersion
from coterie.documents.catalog import Catalog, Located
from coterie.documents.compilation import (
    HOW_TO_SET,
    compile_located,
    print_warnings,
    startable,
)
from coterie.documents.includes import included_files
from coterie.documents.trusted_catalog import trusted_catalog
from coterie.dsl.values import Json
from coterie.failures import CommandError, ExitCode
from coterie.interrupts import run_async
from coterie.runs.new_runs import start
from coterie.settings import Settings
from coterie.text.problems import counted
from coterie.workflows.core.messages import TeamInput


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the command's arguments."""
    add_target(parser)
    add_context(parser)
    add_model(parser)


def run(args: Namespace, settings: Settings) -> ExitCode:
    """Start the run: send the name of a team, the plan of a file, or the file itself.

    A name means the team's deployed version; workers look up another one in their own catalog.
    Workers that run no plans compiled elsewhere get the document.
    """
    target: str = args.target
    catalog = Catalog(settings)
    is_file = (settings.cwd / target).is_file()
    if not is_file and not args.model:
        return run_async(
            start_named(
                settings, target, args.id, partial(_context_of_named, args, catalog, settings)
            )
        )
    if settings.address is not None and not is_file and catalog.named(target) is None:
        raise CommandError(
            f"--model needs the document on this machine, which has no team {target!r}"
        )
    trusted = trusted_catalog(settings, catalog, None)
    if not trusted.accept_plans and args.model:
        raise CommandError(
            "--model changes the plan here, but workers without `worker.accept_plans` run only "
            "plans that they compiled; set the model in the document"
        )
    located = catalog.locate(target)
    compiled = compile_located(catalog, located, args.model)
    context = read_context(settings, args.context, args.settings, compiled.plan.context)
    analysis = print_warnings(args.target, compiled)
    compiled = startable(compiled, context, analysis=analysis)
    if trusted.accept_plans:
        marked = trusted.sets_visibility
        team_input = TeamInput(plan=compiled.plan, context=context, marked=marked)
    else:
        team_input = TeamInput(document=_whole(located), context=context)
    return run_async(start(settings, compiled.plan.name, team_input, args.id))


def _context_of_named(
    args: Namespace, catalog: Catalog, settings: Settings, version: DeployedVersion | None
) -> Json:
    """Return the context for a team that is deployed, or that the worker looks up."""
    if version is not None:
        declared = version.content.context
        context = read_context(settings, args.context, args.settings, declared)
        check_context(version, context, HOW_TO_SET)
        return context
    if settings.address is not None:
        return read_context(settings, args.context, args.settings)
    # the worker is on this machine and has the same folders
    compiled = compile_located(catalog, catalog.locate(args.target))
    context = read_context(settings, args.context, args.settings, compiled.plan.context)
    startable(compiled, context)
    return context


def _whole(located: Located) -> str:
    """Return the document's text, which a worker compiles.

    Raises:
        CommandError: The worker would need other files too.
    """
    parts = included_files(located.file)
    if parts:
        raise CommandError(
            f"{located.file.name} includes {counted(len(parts), 'file')}, and workers without "
            "`worker.accept_plans` compile only the text that they are sent; put the files into "
            "the worker's config/teams and start the team by its name"
        )
    return located.file.read_text(encoding="utf-8")
