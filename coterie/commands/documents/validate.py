"""`coterie validate`: report every problem in documents."""

import json
from argparse import ArgumentParser, Namespace
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from shlex import quote

from coterie.documents.catalog import Catalog, Located
from coterie.documents.compilation import compile_located
from coterie.documents.file_kinds import is_persona
from coterie.documents.fixes import FixedFiles
from coterie.documents.persona_files import persona_problems
from coterie.documents.schedule_text import schedule_lines
from coterie.documents.schedule_warnings import schedule_problems
from coterie.dsl.analysis.findings import analysed, warnings
from coterie.dsl.errors import InvalidDocument, Problem
from coterie.explaining.sarif import sarif_log
from coterie.failures import CommandError, ExitCode
from coterie.settings import Settings
from coterie.terminal import note, say
from coterie.text.problems import counted, lines_of_file, problems_text, summary


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument(
        "targets",
        nargs="*",
        metavar="TEAM_FILE_OR_FOLDER",
        help="files, names of teams, or folders with documents; default: the project's own teams",
    )
    parser.add_argument("--strict", action="store_true", help="fail on any warning")
    parser.add_argument("--json", action="store_true", help="print the problems as a JSON list")
    parser.add_argument(
        "--format",
        choices=("text", "json", "sarif"),
        help="print the problems as text, as a JSON list, or as SARIF 2.1.0 with their fixes",
    )
    parser.add_argument(
        "--fix",
        action="store_true",
        help="apply every fix that is certain and leaves no new problem, and print the changes",
    )


def run(args: Namespace, settings: Settings) -> ExitCode:
    """Compile each document, and print its problems."""
    form = args.format or ("json" if args.json else "text")
    reading = _read(args.targets, settings, {})
    files = FixedFiles(
        settings.cwd, lambda texts: _read(args.targets, settings, texts).problems, reading.problems
    )
    if args.fix:
        files.fix()
        files.write()
        if files.texts:
            (say if form == "text" else note)(files.difference())
    problems = files.problems
    match form:
        case "json":
            data = [problem.as_dict() for problem in problems]
            say(json.dumps(data, indent=2, ensure_ascii=False))
        case "sarif":
            say(json.dumps(sarif_log(problems, files.region), indent=2, ensure_ascii=False))
        case _:
            if problems:
                say(problems_text(problems, lines_of_file(settings.cwd)))
    if form == "text":
        for line in reading.times:
            say(line)
    note(f"{reading.summary}: {summary(problems)}")
    if problems and form == "text":
        note(_page(problems))
    if any(problem.severity == "error" for problem in problems):
        return ExitCode.CALL_WRONG
    return ExitCode.RUN_FAILED if args.strict and problems else ExitCode.DONE


def _read(targets: Sequence[str], settings: Settings, texts: Mapping[str, str]) -> "_Reading":
    """Return what was read, with these texts of files instead of what is stored."""
    reading = _Reading(Catalog(settings, texts))
    for target in targets:
        reading.target(target)
    if not targets:
        reading.own()
    return reading


class _Reading:
    """The documents of one call, and their problems."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._targets: list[str] = []
        self._seen: dict[Path, None] = {}
        self._others: int | None = None
        """YAML files in folders that are not documents; None without a folder."""
        self._problems: dict[Problem, None] = {}
        self.times: list[str] = []
        """The next times of schedules, for people."""

    @property
    def problems(self) -> Sequence[Problem]:
        """All problems, once each, although documents share files."""
        return tuple(self._problems)

    @property
    def summary(self) -> str:
        """A summary of what was read: `teams, a.yml (3 documents read, 2 other files skipped)`."""
        names = ", ".join(self._targets)
        if self._others is None:
            return names
        total = f"{counted(len(self._seen), 'document')} read"
        others = f", {counted(self._others, 'other file')} skipped" if self._others else ""
        return f"{names} ({total}{others})"

    def own(self) -> None:
        """Read all of the project's own teams."""
        own = self._catalog.own()
        if not own:
            raise CommandError(
                "there is no config/teams here; name a document (`coterie validate team.yml`) "
                "or a folder (`coterie validate .`)"
            )
        for located in own:
            self._targets.append(located.name)
            self._documents([located])

    def target(self, target: str) -> None:
        """Read the document, or all documents of the folder, that a person named."""
        self._targets.append(target)
        try:
            self._documents(self._targets_meant(target))
        except InvalidDocument as error:
            self._add(error.problems)

    def _targets_meant(self, target: str) -> Sequence[Located]:
        if not self._catalog.is_folder(target):
            return (self._catalog.locate(target),)
        self._others = self._others or 0
        documents, others = self._catalog.below(target)
        self._others += others
        return documents

    def _documents(self, documents: Iterable[Located]) -> None:
        for located in documents:
            file = located.file.resolve()
            if file not in self._seen:
                self._seen[file] = None
                problems, times = _examine(self._catalog, located)
                self._add(problems)
                self.times += times

    def _add(self, problems: Iterable[Problem]) -> None:
        self._problems |= dict.fromkeys(problems)


def _examine(catalog: Catalog, located: Located) -> tuple[Sequence[Problem], Sequence[str]]:
    """Return the problems of a document, and the next times of its schedules."""
    if is_persona(located.file):
        return persona_problems(catalog, located), ()
    try:
        compiled = compile_located(catalog, located)
    except InvalidDocument as error:
        return error.problems, ()
    now = datetime.now(UTC)
    problems = (*schedule_problems(compiled, now), *warnings(compiled, analysed(compiled)))
    return problems, tuple(schedule_lines(compiled, now))


def _page(problems: Sequence[Problem]) -> str:
    codes = sorted({problem.code for problem in problems})
    if len(codes) == 1:
        return f"`coterie explain {quote(codes[0])}` shows the cause and fix"
    first, rest = codes[0], ", ".join(codes[1:])
    return f"`coterie explain {quote(first)}` shows the cause and fix; the others: {rest}"
