"""`coterie plan`: show what a document compiles to."""

from argparse import ArgumentParser, Namespace

from coterie.arguments import add_model
from coterie.documents.catalog import Catalog
from coterie.documents.compilation import compile_located
from coterie.dsl.analysis.findings import with_needs
from coterie.failures import ExitCode
from coterie.rendering.plan_text import plan_text
from coterie.settings import Settings
from coterie.terminal import note, say
from coterie.text.problems import lines_of_file, problems_text


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("target", metavar="TEAM_OR_FILE", help="a file, or the name of a team")
    add_model(parser)
    parser.add_argument("--json", action="store_true", help="print the plan itself")


def run(args: Namespace, settings: Settings) -> ExitCode:
    """Compile the document, and print the plan."""
    catalog = Catalog(settings)
    compiled = with_needs(compile_located(catalog, catalog.locate(args.target), args.model))
    if compiled.warnings:
        note(problems_text(compiled.warnings, lines_of_file(settings.cwd)))
    if args.json:
        say(compiled.plan.model_dump_json(indent=2, exclude_defaults=True, by_alias=True))
    else:
        say(plan_text(compiled.plan))
    return ExitCode.DONE
