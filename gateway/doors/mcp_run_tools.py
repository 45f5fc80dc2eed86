"""MCP tools that explain runs: reading operations of the gateway, with their roles."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Annotated, Final

from pydantic import Field, JsonValue

from coterie.dsl.model.capabilities import ServerTool
from coterie.dsl.paths import MISSING, get, parse
from coterie.dsl.values import Documented, Json
from coterie.failures import CommandError
from coterie.gateway.identity.identity import Identity
from coterie.gateway.operations.operation import AnyOperation
from coterie.gateway.operations.operations_table import operation_named
from coterie.gateway.operations.performance import perform
from coterie.gateway.operations.permissions import Allowed, may
from coterie.gateway.operations.run_access import RunAccess
from coterie.mcp_server.run_reports import MAX_RESULT_SIZE
from coterie.mcp_server.run_tools import READS_ONLY, read_arguments
from coterie.mcp_server.served_teams import ExplainingTool
from coterie.workflows.core.extract import extract

RUN_TOOLS: Final[Mapping[ExplainingTool, str]] = {
    "runs": "list",
    "why": "why",
    "show": "show",
    "pending": "requests",
    "cost": "cost",
}
"""`{tool: its operation}`."""

_PAGE: Final = ("path", "start")


class PageAsked(Documented):
    """Which part of an answer to return."""

    path: Annotated[str, Field(max_length=1_000)] = ""
    """The part of the answer to return, such as `visits.0`. Default: all."""
    start: int = Field(default=0, ge=0)
    """The character, item or key at which the page starts."""


class AnswerPage(Documented):
    """A part of an answer."""

    answer: JsonValue
    whole: bool
    """Whether nothing is left out."""
    next_start: int | None = None
    """The `start` of the next page."""
    next: str = ""
    """How to get what is left out."""


class RunTools:
    """The tools for one identity."""

    names = frozenset[str](RUN_TOOLS)

    def __init__(self, access: Callable[[], Awaitable[RunAccess]], identity: Identity) -> None:
        """Take what returns the runs, and who asks."""
        self._access = access
        self._identity = identity

    def listing(self) -> Sequence[ServerTool]:
        """Return the tools whose operation the identity may perform for some team."""
        return [
            _tool(name, operation)
            for name, operation in _operations()
            if isinstance(may(self._identity, operation.roles, None), Allowed)
        ]

    async def call(self, name: str, arguments: Json) -> JsonValue:
        """Perform the operation of a tool, and return a page of its answer.

        Raises:
            CommandError: The identity may not, the arguments do not fit, or nobody answers.
        """
        operation = dict(_operations())[name]
        page = read_arguments(
            PageAsked, {key: value for key, value in arguments.items() if key in _PAGE}
        )
        rest = {key: value for key, value in arguments.items() if key not in _PAGE}
        asked = read_arguments(operation.input, rest)
        output = await perform(await self._access(), operation, asked, self._identity)
        return page_of(output.model_dump(mode="json", by_alias=True, exclude_defaults=True), page)


def page_of(answer: JsonValue, page: PageAsked) -> JsonValue:
    """Return a part of an answer, as large as an answer may be.

    Raises:
        CommandError: The path leads nowhere.
    """
    where = parse(page.path) if page.path else ()
    value = get({"answer": answer}, ("answer", *where))
    if value is MISSING:
        raise CommandError(f"nothing lies at {page.path!r}; call the tool without `path`")
    part = extract(value, where, page.start, MAX_RESULT_SIZE)
    hint = "" if part.whole else "call the tool with the `path` of a part that is left out"
    shown = AnswerPage(
        answer=part.value,
        whole=part.whole,
        next_start=part.next,
        next=hint if part.next is None else f"for the next page, call with start {part.next}",
    )
    return shown.model_dump(mode="json", exclude_defaults=True)


def _operations() -> list[tuple[str, AnyOperation]]:
    return [(name, operation_named(operation)) for name, operation in RUN_TOOLS.items()]


def _tool(name: str, operation: AnyOperation) -> ServerTool:
    schema: Json = operation.input.model_json_schema()
    paging: Json = PageAsked.model_json_schema()
    own, more = schema.get("properties", {}), paging["properties"]
    assert isinstance(own, dict)
    assert isinstance(more, dict)
    return ServerTool(
        name=name,
        description=f"{operation.sentence} Reads any run of the project that you may see.",
        input_schema={**schema, "properties": {**own, **more}},
        hints=READS_ONLY,
    )
