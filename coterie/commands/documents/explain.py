"""`coterie explain`: show every effective value and the line that sets it, or an error code."""

import json
from argparse import ArgumentParser, Namespace

from coterie.arguments import add_model
from coterie.documents.catalog import Catalog
from coterie.documents.compilation import compile_located
from coterie.documents.tool_packages import known_functions
from coterie.dsl.analysis.findings import with_needs
from coterie.dsl.checks.context_declarations import PLACE
from coterie.dsl.errors import nearest
from coterie.explaining.code_pages import code_page, is_code, known_codes
from coterie.explaining.effective_values import explained
from coterie.explaining.values_text import context_text, found, overview, parts, values_text
from coterie.failures import CommandError, ExitCode
from coterie.settings import Settings
from coterie.terminal import say


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument(
        "target",
        metavar="TEAM_OR_CODE",
        help="a team's file or name; or the code of a problem, like E202",
    )
    parser.add_argument(
        "path",
        nargs="?",
        metavar="PATH",
        help="a dotted path, or some of its parts in order: teams.review, review.check.model",
    )
    add_model(parser)
    parser.add_argument("--json", action="store_true", help="print a JSON list of all values")


def run(args: Namespace, settings: Settings) -> ExitCode:
    """Compile the document and print its values, or print the chapter of a code."""
    path: str | None = args.path
    if is_code(args.target):
        return _explain_code(args.target)
    catalog = Catalog(settings)
    located = catalog.locate(args.target)
    compiled = compile_located(catalog, located, args.model)
    values = explained(
        compiled, known_functions(settings, compiled.worker.tool_packages), args.model
    )
    chosen = values if path is None else tuple(found(values, path))
    if path is not None and not chosen:
        known_parts = {part for value in values for part in parts(value.dotted)}
        missing = next((part for part in parts(path) if part not in known_parts), None)
        what = f"nothing is called {missing!r}" if missing else f"nothing exists at {path}"
        hint = nearest(missing, known_parts) if missing else ""
        raise CommandError(f"in {args.target} {what}{f': {hint}' if hint else ''}")
    if args.json:
        say(json.dumps([value.as_dict() for value in chosen], indent=2, ensure_ascii=False))
    elif path is None:
        say(overview(with_needs(compiled).plan, catalog.sources(located), values, args.target))
    else:
        say(values_text(chosen, path))
        declared = {str(value.path[2]) for value in chosen if value.path[:2] == PLACE}
        if declared:
            say(f"\n{context_text(compiled.plan, declared)}")
    return ExitCode.DONE


def _explain_code(code: str) -> ExitCode:
    page = code_page(code)
    if page is None:
        hint = nearest(code.upper(), known_codes())
        raise CommandError(f"there is no error code {code!r}{f': {hint}' if hint else ''}")
    say(page)
    return ExitCode.DONE
