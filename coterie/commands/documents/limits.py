"""`coterie limits`: show every limit of a document and the line that sets it."""

import json
from argparse import ArgumentParser, Namespace

from coterie.arguments import add_model, add_target
from coterie.documents.catalog import Catalog
from coterie.documents.compilation import compile_located
from coterie.documents.tool_packages import known_functions
from coterie.explaining.effective_limits import limits
from coterie.explaining.effective_values import explained
from coterie.explaining.values_text import limits_text
from coterie.failures import ExitCode
from coterie.settings import Settings
from coterie.terminal import say


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the command's arguments."""
    add_target(parser)
    add_model(parser)
    parser.add_argument("--json", action="store_true", help="print the limits as a JSON list")


def run(args: Namespace, settings: Settings) -> ExitCode:
    """Compile the document, and print its limits."""
    catalog = Catalog(settings)
    compiled = compile_located(catalog, catalog.locate(args.target), args.model)
    bounds = limits(
        explained(compiled, known_functions(settings, compiled.worker.tool_packages), args.model)
    )
    if args.json:
        say(json.dumps([bound.as_dict() for bound in bounds], indent=2, ensure_ascii=False))
    else:
        say(limits_text(bounds))
    return ExitCode.DONE
