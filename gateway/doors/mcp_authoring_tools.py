"""MCP tools with which a coding assistant writes teams: it checks, draws and tests what it wrote.

They change nothing. A text is checked in a process of the pool and configures no access to the
world; a file is one of the project.
"""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Final, Literal, get_args

from pydantic import Field, JsonValue

from coterie.activities.process_pool.process_pool import ProcessPool
from coterie.activities.process_pool.work import WorkEnded
from coterie.documents.catalog import Catalog, Located
from coterie.documents.file_kinds import is_persona, is_test
from coterie.documents.product_capabilities import capabilities, finds_sandbox
from coterie.documents.server_listings import compared_listings
from coterie.documents.tool_packages import known_functions, packages_in
from coterie.dsl.compile.compiler import SourceText
from coterie.dsl.errors import InvalidDocument, nearest
from coterie.dsl.model.capabilities import ServerTool
from coterie.dsl.values import Documented, Frozen, Json
from coterie.evals.document_schemas import DocumentKind, schema_of
from coterie.evals.language_card import language_card
from coterie.explaining.code_pages import code_page, known_codes
from coterie.failures import CommandError
from coterie.gateway.doors.mcp_run_tools import PageAsked, page_of
from coterie.mcp_server.project_copies import run_test_in_copy
from coterie.mcp_server.run_tools import READS_ONLY, read_arguments
from coterie.mcp_server.served_teams import AuthoringTool
from coterie.mcp_server.written_documents import (
    CHECK_WRITTEN,
    CheckedDocument,
    DocumentProblem,
    WrittenDocument,
)
from coterie.settings import Settings
from coterie.worker.started_documents import cpu_seconds

_MAX_TEXT: Final = 200_000
_TESTS_AT_ONCE: Final = 1
_CHECKS_AT_ONCE: Final = 4

Text = Annotated[str, Field(min_length=1, max_length=_MAX_TEXT)]
TeamName = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$")]
FileName = Annotated[str, Field(min_length=1, max_length=500)]


class DocumentAsked(Documented):
    """A document: its text, or a file of the project."""

    text: Text | None = None
    """The YAML. It is merged with the project's own files, as a file in `config/teams` is."""
    file: FileName | None = None
    """The path of a file in the project, or the name of a team, instead of `text`."""
    name: TeamName = "team"
    """Of a `text`: problems name the file `NAME.yml`."""


class TestAsked(DocumentAsked):
    """A team and its test file; or the test file of the project as `file`."""

    __test__ = False  # pytest collects classes by name

    tests: Text | None = None
    """The YAML of the test file, with `text`: its cases have their answers in the text."""


class CodeAsked(Documented):
    """Which code to explain."""

    code: Annotated[str, Field(pattern=r"^[EWew][0-9]{3}$")]
    """Such as `E202`."""


class SchemaOrCardAsked(PageAsked):
    """Which schema to return."""

    kind: Literal["card", DocumentKind] = "card"
    """`card`: the whole language on a few pages, to read first; the others: JSON Schema."""


class AuthoringTools:
    """The tools for one caller."""

    names = frozenset[str](get_args(AuthoringTool))

    def __init__(
        self, bench: "AuthoringBench", *, reads_files: bool = True, runs_tests: bool = True
    ) -> None:
        """Take what they share, and what the caller may do.

        Args:
            bench: The project and the processes.
            reads_files: Whether it may see what stands in files of the project.
            runs_tests: Whether it may run team tests.
        """
        self._bench = bench
        self._reads_files = reads_files
        self._runs_tests = runs_tests

    def listing(self) -> Sequence[ServerTool]:
        """Return the tools."""
        return [tool for tool in _LISTING if self._runs_tests or tool.name != "test"]

    async def call(self, name: str, arguments: Json) -> JsonValue:
        """Call a tool.

        Raises:
            CommandError: The arguments do not fit, or name what the caller may not see.
        """
        match name:
            case "validate" | "graph":
                asked = read_arguments(DocumentAsked, arguments)
                self._check(asked)
                found = await self._bench.check(asked, draws=name == "graph")
                return _report(found)
            case "test":
                test = read_arguments(TestAsked, arguments)
                self._check(test)
                if (test.text is None) is not (test.tests is None):
                    raise CommandError("give `tests` with `text`, or the test file as `file`")
                if not self._runs_tests:
                    raise CommandError(
                        "running team tests needs the role starter for all teams: teams '*'"
                    )
                return await self._bench.test(test)
            case "explain_code":
                return await asyncio.to_thread(
                    _code_page, read_arguments(CodeAsked, arguments).code.upper()
                )
            case _:
                return await asyncio.to_thread(
                    _schema, read_arguments(SchemaOrCardAsked, arguments)
                )

    def _check(self, asked: DocumentAsked) -> None:
        if (asked.text is None) is (asked.file is None):
            raise CommandError("the arguments do not fit: give either `text` or `file`")
        if asked.file is not None and not self._reads_files:
            raise CommandError(
                "reading files of the project needs the role viewer for all teams: teams '*'; "
                "give the `text` instead"
            )


class AuthoringBench:
    """What the tools of all callers share: the project, and processes."""

    def __init__(self, settings: Settings) -> None:
        """Take the project."""
        self._settings = settings
        self._pool: ProcessPool | None = None
        self._tests = asyncio.Semaphore(_TESTS_AT_ONCE)
        self._checks = asyncio.Semaphore(_CHECKS_AT_ONCE)

    async def check(
        self, asked: DocumentAsked, *, draws: bool = False, tests: str | None = None
    ) -> CheckedDocument:
        """Check a document in a process of the pool.

        Raises:
            CommandError: It is too costly, or its file is not one of the project.
        """
        try:
            document = await asyncio.to_thread(self._document, asked, draws, tests)
        except InvalidDocument as error:
            return CheckedDocument(
                is_valid=False,
                problems=tuple(
                    DocumentProblem.model_validate(problem.as_dict()) for problem in error.problems
                ),
            )
        if self._pool is None:
            self._pool = ProcessPool()
        size = sum(len(source.text) for source in document.sources)
        async with self._checks:
            try:
                seconds = 2 * cpu_seconds(size)
                return await self._pool.run(CHECK_WRITTEN, document.packed(), seconds)
            except WorkEnded as end:
                raise CommandError(f"the document could not be checked: {end}") from None

    async def test(self, asked: TestAsked) -> JsonValue:
        """Run the cases of a test file in a copy of the project."""
        texts: dict[str, str] = {}
        if asked.text is not None and asked.tests is not None:
            found = await self.check(asked, tests=asked.tests)
            if not found.is_valid:
                return _report(found)
            target = f"config/teams/{asked.name}.test.yml"
            texts = {f"config/teams/{asked.name}.yml": asked.text, target: asked.tests}
        else:
            path = self._project_file(asked.file or "")
            if not is_test(path):
                raise CommandError(f"{asked.file} is not a test file; these end in .test.yml")
            target = str(path.relative_to(self._settings.project.resolve()))
        async with self._tests:
            results = await run_test_in_copy(self._settings, texts, target)
        cases = results if isinstance(results, list) else []
        passed = all(isinstance(case, dict) and case.get("passed") is True for case in cases)
        return {"passed": passed and bool(cases), "cases": cases}

    async def close(self) -> None:
        """End the processes."""
        if self._pool is not None:
            await self._pool.close()

    def _document(self, asked: DocumentAsked, draws: bool, tests: str | None) -> WrittenDocument:
        """Return a document with everything that it is merged with; blocking."""
        catalog = Catalog(self._settings)
        if asked.text is None:
            located = self._locate(catalog, asked.file or "")
            sources, own, name = catalog.sources(located), (), located.name
        else:
            text = SourceText(file=f"{asked.name}.yml", text=asked.text, trusted=False)
            own, name = (text,), asked.name
            sources = (*catalog.root_sources(catalog.roots[0]), text, *catalog.override())
        trusted = tuple(source for source in sources if source not in own)
        known = capabilities(
            agent_packages=(),
            provider_packages=(),
            functions=known_functions(self._settings, packages_in(trusted)),
            server_listings=compared_listings(self._settings),
            sandboxed=finds_sandbox(self._settings, trusted),
        )
        test = None if tests is None else SourceText(f"{name}.test.yml", tests, trusted=False)
        return WrittenDocument(name, sources, known, draws, test)

    def _locate(self, catalog: Catalog, target: str) -> Located:
        if (named := catalog.named(target)) is not None:
            return named
        located = catalog.locate(str(self._project_file(target)))
        if is_persona(located.file):
            raise CommandError(f"{target} is a persona; check a team that uses it")
        return located

    def _project_file(self, target: str) -> Path:
        """Return a file of the project, by its path.

        Raises:
            CommandError: It is elsewhere, or does not exist.
        """
        root = self._settings.project.resolve()
        try:
            path = (root / target).resolve()
            is_inside = path.is_relative_to(root) and path.is_file()
        except (OSError, ValueError):
            is_inside, path = False, root
        if not is_inside or any(part.startswith(".") for part in path.relative_to(root).parts):
            raise CommandError(f"there is no file {target!r} in the project, and no such team")
        return path


def _report(found: CheckedDocument) -> JsonValue:
    return found.model_dump(mode="json", exclude_defaults=True)


def _code_page(code: str) -> JsonValue:
    page = code_page(code)
    if page is None:
        hint = nearest(code, known_codes())
        raise CommandError(f"there is no code {code}{f': {hint}' if hint else ''}")
    return page


def _schema(asked: SchemaOrCardAsked) -> JsonValue:
    if asked.kind == "card":
        return language_card()
    return page_of(schema_of(asked.kind), asked)


def _tool(name: str, description: str, asked: type[Frozen]) -> ServerTool:
    schema: Json = asked.model_json_schema()
    return ServerTool(name=name, description=description, input_schema=schema, hints=READS_ONLY)


_LISTING: Final = (
    _tool(
        "validate",
        "Checks a Coterie team in YAML; returns every problem with line, column, code, allowed "
        "values and fix, where certain as an edit. Changes nothing.",
        DocumentAsked,
    ),
    _tool("explain_code", "Explains the code of a problem, with an example.", CodeAsked),
    _tool(
        "schema",
        "Returns the language card, which a model reads before it writes a team, or the JSON "
        f"Schema of a kind of files: {', '.join(get_args(DocumentKind))}.",
        SchemaOrCardAsked,
    ),
    _tool("graph", "Draws a team and its routes as Mermaid text, and checks it.", DocumentAsked),
    _tool(
        "test",
        "Runs the test file of a team with a stub model, in virtual time, on a copy of the "
        "project; returns what differs from the expectations, for each case.",
        TestAsked,
    ),
)
