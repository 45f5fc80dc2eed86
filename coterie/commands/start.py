"""`coterie start`: begin a run that workers elsewhere serve, and print its id."""

from argparse import ArgumentParser, Namespace

from coterie.arguments import add_context, add_model, add_target, read_context, tell_warnings
from coterie.catalog import Catalog
from coterie.compiling import compile_located, startable
from coterie.failures import CommandError, ExitCode
from coterie.settings import Settings
from coterie.trusted_catalog import trusted_catalog
from dsl.values import Json


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the command's arguments."""
    add_target(parser)
    add_context(parser)
    add_model(parser)


def run(args: Namespace, settings: Settings) -> ExitCode:
    """A file is compiled here and its plan sent; a name is left to the worker's own catalog."""
    from coterie.interrupts import run_async
    from coterie.starting import start

    context: Json = read_context(settings, args.context, args.settings)
    target: str = args.target
    catalog = Catalog(settings)
    is_file = (settings.cwd / target).is_file()
    if not is_file and not args.model:
        if settings.address is None:  # the worker is on this machine and looks in the same place
            startable(compile_located(catalog, catalog.locate(target)), context)
        return run_async(start(settings, target, None, context, args.id))
    if settings.address is not None and not is_file and catalog.named(target) is None:
        raise CommandError(
            f"--model needs the document here, and this machine has no team {target!r}"
        )
    marked = trusted_catalog(settings, catalog, None).marks_runs
    compiled = startable(compile_located(catalog, catalog.locate(target), args.model), context)
    tell_warnings(args.target, compiled.warnings)
    return run_async(start(settings, compiled.plan.name, compiled.plan, context, args.id,
                           marked=marked))  # fmt: skip
