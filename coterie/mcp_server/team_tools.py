"""The tools of the MCP server: one for each team, and four for runs. Knows nothing of the protocol.

No tool decides an approval: a model that asks for something must not approve it itself. A client
that shows forms to its person gets the approvals that say `via: mcp` as questions beside a report.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path as Folder
from uuid import uuid4

from coterie.dsl.errors import listed, nearest
from coterie.dsl.model.capabilities import ServerTool
from coterie.dsl.paths import Path, parse
from coterie.dsl.values import Frozen, Json
from coterie.dsl.visible import visible
from coterie.failures import CommandError
from coterie.mcp_server.client_questions import (
    ClientQuestion,
    FormReply,
    McpClient,
    answer_given,
    decisions_of,
    may_answer,
    questions_for,
)
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
from coterie.mcp_server.run_tools import (
    WRITES,
    AnswerArguments,
    ResultArguments,
    StartArguments,
    StatusArguments,
    read_arguments,
    run_tools,
)
from coterie.mcp_server.served_teams import ServedTeam
from coterie.mcp_server.tool_sets import CallerLacksRole, CallerRole
from coterie.runs.records import RunRecord
from coterie.runs.run_client import Run
from coterie.runs.sessions import reply_within
from coterie.workflows.core.extract import extract
from coterie.workflows.core.messages import SessionInput
from coterie.workflows.core.requests import Pending

READS: tuple[CallerRole, ...] = ("viewer",)
_STARTS: tuple[tuple[CallerRole, ...], ...] = (("starter",), READS)
"""A call that starts a run also returns its result."""
ANSWERS: tuple[CallerRole, ...] = ("starter", "operator", "approver")
"""One of them sends messages and answers."""
CANCELS: tuple[CallerRole, ...] = ("operator",)

_LOOK_SECONDS = 1.0
"""How often a waiting call looks whether the run waits for somebody."""
_MAX_RUNS = 20
_MAX_REPLY_SIZE = 50_000


class CallReport(Frozen):
    """What a call returns."""

    report: RunReport | RunList
    is_error: bool = False
    questions: tuple[ClientQuestion, ...] = ()
    """What the run waits for, and the client's person may answer; then the call is made again."""
    as_task: bool = False
    """Whether the client follows the run as a task."""


class QuestionReplies(Frozen):
    """What a call that is made again carries."""

    run: str
    """The run that asked. A client may name any run that it could also name to `answer`."""
    replies: dict[str, FormReply]
    """By the key of the question."""


@dataclass(frozen=True, slots=True)
class TeamTools:
    """The tools, over the runs of a host."""

    host: RunHost
    teams: Mapping[str, ServedTeam]
    wait: float
    """Seconds that a call waits for a run."""

    def listing(self, client: McpClient) -> list[ServerTool]:
        """Return the tools that a client may use, in a fixed order."""
        own = [
            name
            for name in sorted(self.teams)
            if all(client.lacks(roles, self.teams[name].name) is None for roles in _STARTS)
        ]
        tools = run_tools(own, self.wait)
        return [
            *(self._of_team(self.teams[name]) for name in own),
            *(tool for tool in tools if own or tool.name != "start"),
        ]

    async def call(
        self, name: str, arguments: Json, client: McpClient, replies: QuestionReplies | None = None
    ) -> CallReport:
        """Call a tool.

        Args:
            name: Of the tool.
            arguments: As the client gives them.
            client: Who calls.
            replies: To what the run of an earlier call of this kind asked.

        Raises:
            CommandError: The call is refused, with a sentence for the client.
        """
        match name:
            case "start":
                start_arguments = read_arguments(StartArguments, arguments)
                team = self._team(start_arguments.team, client)
                record, run = await self.host.start(team, start_arguments.context)
                return CallReport(report=await self.report(record, run))
            case "status":
                status_arguments = read_arguments(StatusArguments, arguments)
                return CallReport(report=await self._status(status_arguments, client))
            case "answer":
                answer_arguments = read_arguments(AnswerArguments, arguments)
                return CallReport(report=await self._answer_question(answer_arguments, client))
            case "result":
                result_arguments = read_arguments(ResultArguments, arguments)
                record, run = await self.find(result_arguments.run, client, READS)
                shows = client
                if replies is not None:
                    shows = await self._decide_by_replies(record, run, replies, client)
                return await self._result(
                    record, run, shows, _path(result_arguments.path), result_arguments.start
                )
            case _ if replies is not None:
                record, run = await self.find(replies.run, client, READS)
                shows = await self._decide_by_replies(record, run, replies, client)
                return await self._result(record, run, shows)
            case _:
                team = self._team(name, client)
                record, run = await self.host.start(team, arguments)
                if client.follows_tasks and not team.messages:
                    return CallReport(report=await self.report(record, run), as_task=True)
                return await self._result(record, run, client)

    async def decide(self, run: Run, replies: Mapping[str, FormReply], client: McpClient) -> None:
        """Decide what a client's person has answered.

        Raises:
            CommandError: The run refuses an answer.
        """
        run.signer = client.signer()
        for decision in decisions_of(await self.pending(run), replies, client):
            await run.decide(decision)

    async def pending(self, run: Run) -> tuple[Pending, ...]:
        """Return the requests that wait, each in full."""
        requests: list[Pending] = []
        for request in await run.pending():
            whole = (await run.request(request.id)).pending if request.cut else request
            if whole is not None:
                requests.append(whole)
        return tuple(requests)

    async def _decide_by_replies(
        self, record: RunRecord, run: Run, replies: QuestionReplies, client: McpClient
    ) -> McpClient:
        """Decide by replies; return the client, without forms if its person closed one."""
        if replies.run != record.id:
            raise CommandError(f"the answers are for run {visible(replies.run[:200])!r}")
        await self.decide(run, replies.replies, client)
        has_cancelled = any(reply.action == "cancel" for reply in replies.replies.values())
        return replace(client, answers=False) if has_cancelled else client

    async def find(
        self, id: str, client: McpClient, *needs: Sequence[CallerRole]
    ) -> tuple[RunRecord, Run]:
        """Return a run on which a client may act; it needs a role of each of `needs`.

        Raises:
            CommandError: There is none, the client may not, or this process cannot serve it.
        """
        record = await asyncio.to_thread(self.host.record, id, self._sees(client))
        for roles in needs:
            if reason := client.lacks(roles, self._team_of(record)):
                raise CallerLacksRole(reason)
        return record, await self.host.served(record)

    def _sees(self, client: McpClient) -> Callable[[RunRecord], bool]:
        return lambda record: client.lacks(READS, self._team_of(record)) is None

    def _team_of(self, record: RunRecord) -> str:
        """Return the name of a run's team, which grants name."""
        team = self.teams.get(record.mcp_tool)
        return record.mcp_tool if team is None else team.name

    def _team(self, name: str, client: McpClient) -> ServedTeam:
        """Return a team that a client may start."""
        team = self.teams.get(name)
        reasons = [None if team is None else client.lacks(roles, team.name) for roles in _STARTS]
        if any(reasons):
            raise CallerLacksRole(next(reason for reason in reasons if reason))
        if team is None or "" in reasons:
            seen = [tool for tool, its in self.teams.items() if client.lacks(READS, its.name) != ""]
            hint = nearest(name, seen)
            raise CommandError(
                f"there is no team {visible(name[:100])!r} here{f'; {hint}' if hint else ''}; "
                f"teams: {listed(sorted(seen))}"
            )
        return team

    async def _result(
        self, record: RunRecord, run: Run, client: McpClient, path: Path = (), start: int = 0
    ) -> CallReport:
        """Wait until the run ends or waits for somebody, at most for the bound."""
        ending = asyncio.create_task(run.end())
        until = asyncio.get_running_loop().time() + self.wait
        try:
            while True:
                time_left = until - asyncio.get_running_loop().time()
                await asyncio.wait({ending}, timeout=max(min(_LOOK_SECONDS, time_left), 0))
                if ending.done():
                    report = ended_report(record, await ending, path, start)
                    return CallReport(report=report, is_error=report.state == "failed")
                if time_left <= _LOOK_SECONDS:
                    return CallReport(report=await self.report(record, run, path, start))
                report = await self.report(record, run)
                if report.state in ("waiting", "awaiting_message", "paused"):
                    return CallReport(
                        report=report, questions=await self._questions_to_show(record, run, client)
                    )
        finally:
            ending.cancel()

    async def _questions_to_show(
        self, record: RunRecord, run: Run, client: McpClient
    ) -> tuple[ClientQuestion, ...]:
        if not client.answers:
            return ()
        return questions_for(await self.pending(run), client, Folder(record.trusted.workspace))

    async def report(
        self, record: RunRecord, run: Run, path: Path = (), start: int = 0
    ) -> RunReport:
        """Report a run; raises CommandError if it does not answer."""
        team = self.teams.get(record.mcp_tool)
        messages = frozenset[str]() if team is None else team.messages
        return await report_of(record, run, messages, path, start)

    async def _report_or_why(self, record: RunRecord, run: Run) -> RunReport:
        """Report a run, or why nothing is known of it."""
        try:
            return await self.report(record, run)
        except CommandError as error:  # the server has deleted it, or it does not answer
            return unknown_report(record, str(error))

    async def _status(self, arguments: StatusArguments, client: McpClient) -> RunReport | RunList:
        if arguments.run is not None:
            record, run = await self.find(arguments.run, client, READS)
            return await self.report(record, run)
        runs = await self.host.latest(_MAX_RUNS, self._sees(client))
        reports = await asyncio.gather(*(self._brief(record, run) for record, run in runs))
        return RunList(runs=tuple(reports))

    async def _brief(self, record: RunRecord, run: Run) -> RunReport:
        """Report one run of a list: without its result."""
        report = await self._report_or_why(record, run)
        if report.state != "done":
            return report
        return report.model_copy(update={"result": None, "whole": False, "next": "call `result`"})

    async def _answer_question(self, arguments: AnswerArguments, client: McpClient) -> RunReport:
        """Answer a question; or send a message to a session, and wait for its reply."""
        record, run = await self.find(arguments.run, client, READS, ANSWERS)
        report = await self.report(record, run)
        names_one = arguments.request is not None or arguments.digest is not None
        if names_one or report.state == "waiting":
            question = await self._question(record, run, arguments, client)
            run.signer = client.signer()
            await run.decide(answer_given(question, arguments.message, client))
            return await self._report_or_why(record, run)
        id = arguments.message_id or str(uuid4())
        message = SessionInput(message=arguments.message, by=client.by)
        reply = (await reply_within(run, message, id, self.wait)).reply
        report = await self._report_or_why(record, run)
        if reply is None:
            hint = f"no reply yet: call `answer` again with message_id {id!r}"
            return report.model_copy(update={"message_id": id, "next": hint})
        value = visible_value(extract(reply.value, (), 0, _MAX_REPLY_SIZE).value)
        return report.model_copy(update={"reply": value, "message_id": id})

    async def _question(
        self, record: RunRecord, run: Run, given: AnswerArguments, client: McpClient
    ) -> Pending:
        """Return the question that a message answers, if it is as the client has seen it.

        Refuse what a person must decide.
        """
        pending = await self.pending(run)
        open_ones = [
            request for request in pending if request.is_question and may_answer(request, client)
        ]
        named = [one for one in open_ones if given.request in (None, visible(one.id))]
        matches = [one for one in named if one.digest == given.digest]
        if len(matches) == 1:
            return matches[0]
        if open_ones:
            asks = listed([f"{visible(one.id)} (digest {one.digest})" for one in open_ones])
            if given.digest is None:
                why = f"set `digest` to that of the question that your user has seen: {asks}"
            elif matches:
                why = f"it asks several questions with this digest; set `request`: {asks}"
            else:
                why = f"it does not ask this, or not so any more; it asks {asks}"
            raise CommandError(f"run {record.id!r} waits for an answer: {why}")
        report = await self.report(record, run)
        how = f": {report.approvals[0].decide}" if report.approvals else ""
        raise CommandError(
            f"run {record.id!r} waits for a person's decision, which this tool never makes; "
            f"a person decides at a terminal{how}"
        )

    def _of_team(self, team: ServedTeam) -> ServerTool:
        session = " It is a session: `answer` sends it messages." if team.messages else ""
        return ServerTool(
            name=team.tool,
            description=(
                f"{team.description}\n\nStarts a durable run. Returns its result, or after "
                f"{self.wait:g} s where it stands; then `result` waits for it.{session}"
            ),
            input_schema=team.arguments,
            output_schema=report_schema(team),
            hints=WRITES,
        )


def _path(path: str | tuple[str, ...]) -> Path:
    return parse(path) if isinstance(path, str) else path
