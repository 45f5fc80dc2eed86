"""`coterie validate`: every problem of documents, in one pass."""

import json
from argparse import ArgumentParser, Namespace

from coterie.catalog import Catalog
from coterie.compiling import compile_located
from coterie.failures import CommandError, ExitCode
from coterie.render import lines_of_file, problems_text, summary
from coterie.settings import Settings
from coterie.terminal import note, say
from dsl.analysis.findings import analysed, warnings
from dsl.errors import InvalidDocument, Problem


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument(
        "targets", nargs="*", metavar="TEAM_OR_FILE",
        help="files, or names of teams; without any, all of the project's own teams",
    )  # fmt: skip
    parser.add_argument("--json", action="store_true", help="print the problems as a JSON list")


def run(args: Namespace, settings: Settings) -> ExitCode:
    """Compile each document and tell what is wrong with it."""
    targets: list[str] = args.targets
    catalog = Catalog(settings)
    if not targets:
        targets = [located.name for located in catalog.own()]
    if not targets:
        raise CommandError("name a file or a team; this project has no config/teams of its own")
    problems = [problem for target in targets for problem in _problems(catalog, target)]
    problems = list(dict.fromkeys(problems))
    wrong = any(problem.severity == "error" for problem in problems)
    if args.json:
        say(json.dumps([problem.as_dict() for problem in problems], indent=2, ensure_ascii=False))
    else:
        if problems:
            say(problems_text(problems, lines_of_file(settings.cwd)))
        note(f"{', '.join(targets)}: {summary(problems)}")
    return ExitCode.CALL_WRONG if wrong else ExitCode.DONE


def _problems(catalog: Catalog, target: str) -> tuple[Problem, ...]:
    try:
        compiled = compile_located(catalog, catalog.locate(target))
    except InvalidDocument as error:
        return error.problems
    return tuple(warnings(compiled, analysed(compiled)))
