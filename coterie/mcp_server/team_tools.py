"""The tools of the MCP server: one for each team, and four for runs. Knows nothing of the protocol.

No tool decides an approval: a model that asks for something must not approve it itself.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, TypeVar
from uuid import uuid4

from pydantic import Field, JsonValue, TypeAdapter, ValidationError

from coterie.failures import CommandError
from coterie.mcp_server.run_host import RunHost
from coterie.mcp_server.run_reports import (
    RunList,
    RunReport,
    ended_report,
    report_of,
    report_schema,
    unknown_report,
    visible_value,
)
from coterie.mcp_server.served_teams import ServedTeam
from coterie.runs.records import RunRecord
from coterie.runs.run_client import Run
from coterie.runs.sessions import reply_within
from dsl.errors import listed, nearest
from dsl.paths import Path, parse
from dsl.sizes import MAX_BY_LENGTH
from dsl.values import Documented, Frozen, Json
from dsl.visible import visible
from workflows.core.extract import extract
from workflows.core.messages import SessionInput

_LOOK_SECONDS = 1.0
"""How often a waiting call looks whether the run waits for somebody."""
_MAX_RUNS = 20
_MAX_REPLY_SIZE = 50_000
_MAX_FAULTS_LENGTH = 1_000

_RunId = Annotated[str, Field(min_length=1, max_length=200)]


class StartArguments(Documented):
    """The arguments of `start`."""

    team: str
    """The tool of the team."""
    context: Json = Field(default_factory=dict[str, JsonValue])
    """The arguments of that tool."""


class StatusArguments(Documented):
    """The arguments of `status`."""

    run: _RunId | None = None
    """The run's id. Default: the latest runs, briefly."""


class AnswerArguments(Documented):
    """The arguments of `answer`."""

    run: _RunId
    """The run's id."""
    message: JsonValue
    """The message."""
    message_id: str | None = Field(default=None, min_length=1, max_length=100)
    """Of a message that was sent before: the run works on it once, and answers again."""


class ResultArguments(Documented):
    """The arguments of `result`."""

    run: _RunId
    """The run's id."""
    path: str | tuple[str, ...] = ""
    """The part of the result to return, such as `report.sections`. Default: all."""
    start: int = Field(default=0, ge=0)
    """The character, item or key at which the page starts."""


class ToolListing(Frozen):
    """One tool, as clients see it."""

    name: str
    description: str
    arguments: Json
    result: Json | None
    reads_only: bool


class CallReport(Frozen):
    """What a call returns."""

    report: RunReport | RunList
    is_error: bool = False


T = TypeVar("T", bound=Frozen)


@dataclass(frozen=True, slots=True)
class TeamTools:
    """The tools, over the runs of a host."""

    host: RunHost
    teams: Mapping[str, ServedTeam]
    wait: float
    """Seconds that a call waits for a run."""

    def listing(self) -> list[ToolListing]:
        """Return all tools in a fixed order."""
        return [*(self._of_team(self.teams[name]) for name in sorted(self.teams)), *self._of_runs()]

    async def call(self, name: str, arguments: Json, client: str) -> CallReport:
        """Call a tool.

        Args:
            name: Of the tool.
            arguments: As the client gives them.
            client: The name of the client's program.

        Raises:
            CommandError: The call is refused, with a sentence for the client.
        """
        match name:
            case "start":
                started = _read(StartArguments, arguments)
                record, run = await self.host.start(self._team(started.team), started.context)
                return CallReport(report=await self._report(record, run))
            case "status":
                return CallReport(report=await self._status(_read(StatusArguments, arguments)))
            case "answer":
                asked = _read(AnswerArguments, arguments)
                return CallReport(report=await self._answered(asked, client))
            case "result":
                wanted = _read(ResultArguments, arguments)
                record, run = await self.host.find(wanted.run)
                return await self._result(record, run, _path(wanted.path), wanted.start)
            case _:
                record, run = await self.host.start(self._team(name), arguments)
                return await self._result(record, run)

    def _team(self, name: str) -> ServedTeam:
        team = self.teams.get(name)
        if team is None:
            hint = nearest(name, self.teams)
            raise CommandError(
                f"there is no team {visible(name[:100])!r} here{f'; {hint}' if hint else ''}; "
                f"teams: {listed(sorted(self.teams))}"
            )
        return team

    async def _result(
        self, record: RunRecord, run: Run, path: Path = (), start: int = 0
    ) -> CallReport:
        """Wait until the run ends or waits for somebody, at most for the bound."""
        ending = asyncio.create_task(run.end())
        until = asyncio.get_running_loop().time() + self.wait
        try:
            while True:
                left = until - asyncio.get_running_loop().time()
                await asyncio.wait({ending}, timeout=max(min(_LOOK_SECONDS, left), 0))
                if ending.done():
                    report = ended_report(record, await ending, path, start)
                    return CallReport(report=report, is_error=report.state == "failed")
                if left <= _LOOK_SECONDS:
                    return CallReport(report=await self._report(record, run, path, start))
                report = await self._report(record, run)
                if report.state in ("waiting", "awaiting_message", "paused"):
                    return CallReport(report=report)
        finally:
            ending.cancel()

    async def _report(
        self, record: RunRecord, run: Run, path: Path = (), start: int = 0
    ) -> RunReport:
        team = self.teams.get(record.mcp_tool)
        messages = frozenset[str]() if team is None else team.messages
        return await report_of(record, run, messages, path, start)

    async def _report_or_why(self, record: RunRecord, run: Run) -> RunReport:
        """Report a run, or why nothing is known of it."""
        try:
            return await self._report(record, run)
        except CommandError as error:  # the server has deleted it, or it does not answer
            return unknown_report(record, str(error))

    async def _status(self, asked: StatusArguments) -> RunReport | RunList:
        if asked.run is not None:
            record, run = await self.host.find(asked.run)
            return await self._report(record, run)
        found = await self.host.latest(_MAX_RUNS)
        reports = await asyncio.gather(*(self._brief(record, run) for record, run in found))
        return RunList(runs=tuple(reports))

    async def _brief(self, record: RunRecord, run: Run) -> RunReport:
        """Report one run of a list: without its result."""
        report = await self._report_or_why(record, run)
        if report.state != "done":
            return report
        return report.model_copy(update={"result": None, "whole": False, "next": "call `result`"})

    async def _answered(self, asked: AnswerArguments, client: str) -> RunReport:
        """Send a message to a session, and wait for its reply, at most for the bound."""
        record, run = await self.host.find(asked.run)
        id = asked.message_id or str(uuid4())
        by = f"mcp:{visible(client)}"[:MAX_BY_LENGTH]
        await self._refuse_approvals(record, run)
        message = SessionInput(message=asked.message, by=by)
        reply = await reply_within(run, message, id, self.wait)
        report = await self._report_or_why(record, run)
        if reply is None:
            hint = f"no reply yet: call `answer` again with message_id {id!r}"
            return report.model_copy(update={"message_id": id, "next": hint})
        shown = visible_value(extract(reply.value, (), 0, _MAX_REPLY_SIZE).value)
        return report.model_copy(update={"reply": shown, "message_id": id})

    async def _refuse_approvals(self, record: RunRecord, run: Run) -> None:
        """Refuse to answer what a person must decide."""
        report = await self._report(record, run)
        if report.state == "waiting":
            asked = report.approvals[0] if report.approvals else None
            how = f": {asked.decide}" if asked else ""
            raise CommandError(
                f"run {record.id!r} waits for a person's decision, which no MCP client can make; "
                f"a person decides at a terminal{how}"
            )

    def _of_team(self, team: ServedTeam) -> ToolListing:
        session = " It is a session: `answer` sends it messages." if team.messages else ""
        return ToolListing(
            name=team.tool,
            description=(
                f"{team.description}\n\nStarts a durable run. Returns its result, or after "
                f"{self.wait:g} s where it stands; then `result` waits for it.{session}"
            ),
            arguments=team.arguments,
            result=report_schema(team),
            reads_only=False,
        )

    def _of_runs(self) -> list[ToolListing]:
        bound = f"at most {self.wait:g} s"
        report = report_schema()
        return [
            ToolListing(
                name="start",
                description="Starts a durable run of a team and returns its id at once.",
                arguments=_schema(StartArguments, team=sorted(self.teams)),
                result=report,
                reads_only=False,
            ),
            ToolListing(
                name="status",
                description="Shows where a run stands and which approvals wait for a person; "
                "without a run, lists the latest runs that MCP clients started.",
                arguments=_schema(StatusArguments),
                result=None,
                reads_only=True,
            ),
            ToolListing(
                name="answer",
                description="Sends a message to a run that awaits one (state "
                f"`awaiting_message`), and returns its reply; waits {bound}. Approvals are for "
                "people: no tool decides them.",
                arguments=_schema(AnswerArguments),
                result=report,
                reads_only=False,
            ),
            ToolListing(
                name="result",
                description=f"Waits for the end of a run, {bound}, and returns its result; also "
                "of runs that earlier clients started.",
                arguments=_schema(ResultArguments),
                result=report,
                reads_only=True,
            ),
        ]


def _schema(model: type[Frozen], team: list[str] | None = None) -> Json:
    schema: Json = TypeAdapter(model).json_schema()
    properties = schema["properties"]
    if team is not None and isinstance(properties, dict):
        properties["team"] = {"type": "string", "enum": [*team], "description": "The team."}
    return schema


def _read(model: type[T], arguments: Json) -> T:
    try:
        return model.model_validate(arguments)
    except ValidationError as error:
        faults = [
            f"{'.'.join(map(str, one['loc'])) or 'the arguments'}: {one['msg']}"
            for one in error.errors(include_url=False, include_input=False)
        ]
        allowed = listed(model.model_fields)
        text = visible("; ".join(faults))[:_MAX_FAULTS_LENGTH]
        raise CommandError(f"the arguments do not fit: {text}; allowed are {allowed}") from None


def _path(given: str | tuple[str, ...]) -> Path:
    return parse(given) if isinstance(given, str) else given
