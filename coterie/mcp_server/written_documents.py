"""Check a document that an MCP client wrote, in a process of the pool.

A text that comes with a call is merged with the files of the project and may not configure access
to the world, like a document that comes with a start.
"""

import pickle
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from pydantic import ConfigDict, TypeAdapter

from coterie.activities.process_pool.work import Work
from coterie.documents.fixes import FixedFiles
from coterie.documents.schedule_warnings import schedule_problems
from coterie.dsl.analysis.findings import analysed, warnings, with_needs
from coterie.dsl.compile.compiler import SourceText, compile_sources
from coterie.dsl.errors import InvalidDocument, Problem
from coterie.dsl.model.capabilities import Capabilities
from coterie.dsl.problem_details import ProblemText, rule
from coterie.dsl.source.collected_problems import Problems
from coterie.dsl.source.nodes import Place
from coterie.dsl.source.yaml_reader import read
from coterie.dsl.values import Documented
from coterie.dsl.visible import shortened_text
from coterie.graph.mermaid import mermaid_of
from coterie.graph.picture import picture

MAX_PROBLEMS = 100
_BEYOND = ("workspace", "team", "real", "answers")
"""Keys of a test file that lead beyond its text; `answers` only where it names a file."""


class WrittenDocument(NamedTuple):
    """A document with what it is merged with, and what to return of it."""

    name: str
    sources: Sequence[SourceText]
    known: Capabilities
    draws: bool = False
    tests: SourceText | None = None
    """Of a test file that comes with it."""

    def packed(self) -> bytes:
        """Return it as bytes, which only a process of this server reads."""
        return pickle.dumps(self)


class ProblemEdit(Documented):
    """A certain fix: replace what is between two places by a text."""

    line: int
    column: int
    end_line: int
    end_column: int
    text: str


class DocumentProblem(Documented):
    """A mistake, or a warning."""

    code: str
    file: str
    line: int
    column: int
    message: str
    path: str = ""
    step: str = ""
    allowed: str = ""
    fix: str = ""
    """What to do about it."""
    severity: str = "error"
    edit: ProblemEdit | None = None
    """The fix as an edit of the text, where it is certain."""


class CheckedDocument(Documented):
    """What a check found."""

    is_valid: bool
    """Whether it may have warnings, but no errors."""
    problems: tuple[DocumentProblem, ...] = ()
    further_problems: int = 0
    """Problems that are not listed."""
    graph: str = ""
    """The teams and their routes, as Mermaid text."""


def check_written(packed: bytes) -> CheckedDocument:
    """Check a document; blocking."""
    document: WrittenDocument = pickle.loads(packed)  # made by the server
    graph = ""
    try:
        if document.tests is not None:
            _check_tests(document.tests)
        compiled = compile_sources(document.sources, document.known, name=document.name)
        odd = schedule_problems(compiled, datetime.now(UTC))
        problems: Sequence[Problem] = (*odd, *warnings(compiled, analysed(compiled)))
        if document.draws:
            graph = mermaid_of(picture(with_needs(compiled).plan), None)
    except InvalidDocument as error:
        problems = error.problems
    texts = {source.file: source.text for source in document.sources}
    return checked_document(problems, texts, graph)


def checked_document(
    problems: Sequence[Problem], texts: dict[str, str], graph: str = ""
) -> CheckedDocument:
    """Return problems with their fixes as edits.

    Args:
        problems: All of them.
        texts: `{file: its text}`.
        graph: The picture of the document, if one is wanted.
    """
    files = FixedFiles(Path("/"), lambda _: problems, problems)
    files.texts = dict(texts)
    return CheckedDocument(
        is_valid=all(problem.severity == "warning" for problem in problems),
        problems=tuple(_problem_shown(problem, files) for problem in problems[:MAX_PROBLEMS]),
        further_problems=max(0, len(problems) - MAX_PROBLEMS),
        graph=graph,
    )


def _problem_shown(problem: Problem, files: FixedFiles) -> DocumentProblem:
    region = files.region(problem)
    edit = None if region is None else ProblemEdit.model_validate(region._asdict())
    return DocumentProblem.model_validate({**problem.as_dict(), "edit": edit})


@rule("E001")
def names_file_of_project(key: str) -> ProblemText:
    return ProblemText(
        f"a test that comes with a call has no `{key}`: it would reach beyond the text",
        fix="leave it out, and give the cases their files and answers in the text",
    )


@rule("E001")
def file_outside_workspace(name: str) -> ProblemText:
    return ProblemText(
        f"the file {name!r} is outside the workspace of the case", fix="name a file below it"
    )


def _check_tests(tests: SourceText) -> None:
    """Refuse what in a test file leads to files of the project, or acts outside the test.

    Raises:
        InvalidDocument: It has such a key, or is not YAML.
    """
    tree = read(tests.text, tests.file)
    cases = tree.child("cases")
    problems = Problems()
    for node in (tree, *(cases.items() if cases is not None else ())):
        for key in _BEYOND:
            child = node.child(key)
            if child is not None and (key != "answers" or isinstance(child.value, str)):
                problems.report(names_file_of_project(key), Place(child.at, (key,)))
        files = node.child("files")
        names = files.value if files is not None and isinstance(files.value, dict) else {}
        for name, child in names.items():
            if Path(name).is_absolute() or ".." in Path(name).parts:
                details = file_outside_workspace(shortened_text(name, 100))
                problems.report(details, Place(child.at, ("files", name)))
    if problems.errors:
        raise InvalidDocument(problems.errors)


CHECK_WRITTEN = Work[bytes, CheckedDocument](
    "coterie.mcp_server.written_documents:CHECK_WRITTEN",
    "coterie.mcp_server.written_documents:check_written",
    TypeAdapter(bytes, config=ConfigDict(ser_json_bytes="base64", val_json_bytes="base64")),
    TypeAdapter(CheckedDocument),
)
