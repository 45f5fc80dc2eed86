"""`coterie test`: run team tests against a stub model, in virtual time."""

import json
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from pathlib import Path

from coterie.dsl.errors import InvalidDocument, Problem
from coterie.dsl.values import seconds
from coterie.failures import CommandError, ExitCode
from coterie.interrupts import run_async
from coterie.logs import to_file_if_writable
from coterie.settings import Settings
from coterie.terminal import note, say
from coterie.testing.case_report import (
    result_json,
    result_text,
    summary_text,
    untested_events,
    untested_text,
)
from coterie.testing.case_runner import CaseResult, run_cases
from coterie.testing.files.case_discovery import find_tests
from coterie.testing.files.case_reader import Case, TestFile, read_tests
from coterie.testing.simulation.case_server import time_skipping_server
from coterie.text.problems import lines_of_file, problems_text

_LIMIT = "5m"


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument(
        "targets",
        nargs="*",
        metavar="FILE",
        help="test files (name.test.yml), or folders with them; default: those of the project's "
        "own config",
    )
    parser.add_argument(
        "-k", metavar="TEXT", dest="only", help="only cases with this text in `file: case`"
    )
    parser.add_argument(
        "--trail", action="store_true", help="print every event of each failed case"
    )
    parser.add_argument("--json", action="store_true", help="print the results as a JSON list")
    parser.add_argument(
        "--limit",
        metavar="TIME",
        type=_length,
        default=_LIMIT,
        help=f"end a case after this much real time; default: {_LIMIT}",
    )


def run(args: Namespace, settings: Settings) -> ExitCode:
    """Read all files before the first case runs, then run all cases."""
    chosen = _chosen_cases(_read(settings, find_tests(settings, args.targets)), args.only)
    if not chosen:
        raise CommandError(f"no case has {args.only!r} in its name or its file's name")
    results = run_async(_results(settings, chosen, args.limit, as_json=args.json, trail=args.trail))
    if args.only is None:
        _note_untested([file for file, _ in chosen], results)
    failed = any(not result.passed for result in results)
    return ExitCode.RUN_FAILED if failed else ExitCode.DONE


def _note_untested(files: "list[TestFile]", results: "list[CaseResult]") -> None:
    """Report the events of teams that no case of their file ran."""
    for name, file in {file.shown: file for file in files}.items():
        own = [result for result in results if result.file == name]
        events = untested_events(file.team.compiled.plan, own)
        if events:
            note(untested_text(name, events))


def _length(text: str) -> float:
    try:
        length = seconds(float(text) if text.replace(".", "", 1).isdigit() else text)
    except ValueError as error:
        raise ArgumentTypeError(str(error)) from None
    assert isinstance(length, float)
    return length


def _read(settings: Settings, files: "list[Path]") -> "list[TestFile]":
    """Read every file, or report the problems of all of them."""
    test_files: list[TestFile] = []
    problems: list[Problem] = []
    for file in files:
        try:
            tests = read_tests(settings, file)
        except InvalidDocument as error:
            problems += error.problems
        else:
            test_files.append(tests)
            if tests.warnings:
                note(problems_text(tests.warnings, lines_of_file(settings.cwd)))
    if problems:
        raise InvalidDocument(tuple(dict.fromkeys(problems)))
    return test_files


def _chosen_cases(files: "list[TestFile]", only: str | None) -> "list[tuple[TestFile, Case]]":
    return [
        (file, case)
        for file in files
        for case in file.cases
        if only is None or only.lower() in f"{file.shown}: {case.name}".lower()
    ]


async def _results(
    settings: Settings,
    cases: "list[tuple[TestFile, Case]]",
    limit: float,
    *,
    as_json: bool,
    trail: bool,
) -> "list[CaseResult]":
    to_file_if_writable(settings)
    results: list[CaseResult] = []
    async with time_skipping_server(settings) as client:
        async for result in run_cases(client, cases, limit):
            results.append(result)
            if not as_json:
                say(result_text(result, trail=trail))
    if as_json:
        say(json.dumps([result_json(result) for result in results], indent=2, ensure_ascii=False))
    note(summary_text(results))
    return results
