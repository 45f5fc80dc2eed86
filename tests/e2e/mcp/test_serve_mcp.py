"""Teams as MCP tools: a real client of the SDK talks to `coterie serve --mcp`, and dies."""

import asyncio
import socket
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from typing import Any

import anyio
from mcp import Client, StdioServerParameters, stdio_client
from mcp.client._transport import TransportStreams
from mcp.server.stdio import stdio_server

from coterie.evals.language_card import EXAMPLES
from coterie.failures import CommandError
from coterie.runs.run_client import Run
from coterie.workflows.core.messages import DecideInput
from tests.support.programs.command_server import PROGRAM, command_server
from tests.support.project import Project

ECHO = r"""
description: Repeats each message.
orchestration:
  entry_team: talk
  context:
    manners: {type: string, default: plain}
  teams:
    talk:
      tasks:
        - {name: next, type: wait, message: true, schema: {type: string, maxLength: 20}}
        - {name: say, type: reply, value: "you said {{ tasks.next.data }}"}
      routing: {default: talk}
"""


DAY = r"""
description: Asks for a day.
tools: {ask_person: {skill: Person.ask}}
orchestration:
  entry_team: ask
  context: {day: {type: string, default: ""}}
  output: {day: "{{ context.day }}"}
  teams:
    ask:
      tasks:
        - name: ask
          type: tool
          tool: ask_person
          arguments: {question: Which day?}
          context_updates: {day: "{{ data.answer }}"}
"""


SERVE = ("serve", "--mcp", "--wait", "30s")


class Caller:
    """A client of the SDK."""

    def __init__(self, client: Client) -> None:
        self._client = client

    async def tools(self) -> dict[str, dict[str, Any]]:
        tools = (await self._client.list_tools()).tools
        return {tool.name: tool.model_dump(mode="json") for tool in tools}

    async def call(self, tool: str, **arguments: str) -> dict[str, Any]:
        result = await self._client.call_tool(tool, {**arguments})
        text = "".join(part.text for part in result.content if part.type == "text")
        return {"error": text} if result.is_error else dict(result.structured_content or {})


@asynccontextmanager
async def launched(desk: Project, *teams: str) -> AsyncGenerator[Caller]:
    """A client, and the server that it starts as any program."""
    server = StdioServerParameters(
        command=str(PROGRAM), args=[*SERVE, *teams], env=desk.environment, cwd=desk.folder
    )
    with (desk.folder / "serve.log").open("a") as log:
        async with Client(stdio_client(server, errlog=log), read_timeout_seconds=60) as client:
            yield Caller(client)


@asynccontextmanager
async def forked(desk: Project, *teams: str) -> AsyncGenerator[Caller]:
    """A client, and a server that need not import anything.

    It leaves the server as a client that is killed: both streams break off, and the server ends.
    """
    ours, theirs = socket.socketpair()
    with ours, (desk.folder / "serve.log").open("ab") as log:
        files = (theirs.fileno(), theirs.fileno(), log.fileno())
        process = command_server().begin((*SERVE, *teams), desk.folder, desk.environment, files)
        theirs.close()
        try:
            async with Client(streams(ours), read_timeout_seconds=60) as client:
                yield Caller(client)
            process.wait(timeout=60)
        finally:
            process.kill()


@asynccontextmanager
async def streams(connection: socket.socket) -> AsyncGenerator[TransportStreams]:
    """A connection for a client; the SDK reads and writes the same lines at both ends."""
    with (
        connection.makefile(encoding="utf-8") as lines,
        connection.makefile("w", encoding="utf-8") as out,
    ):
        async with stdio_server(anyio.wrap_file(lines), anyio.wrap_file(out)) as both:
            try:
                yield both
            finally:
                connection.shutdown(socket.SHUT_RDWR)


async def asks(desk: Project, run: str) -> None:
    """Wait until the run asks: the server that has ended may hold its task till that times out."""
    session = Run(await desk.client(), run)
    async with asyncio.timeout(120):
        while True:
            with suppress(CommandError):  # no worker answers yet
                if await session.pending():
                    return
            await asyncio.sleep(0.1)  # between two looks


async def approved(desk: Project, run: str, request: str) -> None:
    by_ada = DecideInput(id=request, decision="approve", by="ada")
    await Run(await desk.client(), run).decide(by_ada)


async def cancelled(desk: Project, run: str) -> None:
    session = Run(await desk.client(), run)
    await session.cancel("the test is over")
    assert not (await session.end()).completed


async def test_a_client_lists_and_calls_teams_and_talks_to_a_session(desk: Project) -> None:
    (desk.folder / "echo.yml").write_text(ECHO)
    async with launched(desk, "chore", "failing", "echo.yml") as caller:
        tools = await caller.tools()
        own = ["chore", "echo", "failing", "start", "status", "answer", "result"]
        others = ["runs", "why", "show", "pending", "cost"]
        others += ["validate", "explain_code", "schema", "graph", "test"]
        assert list(tools) == own + others
        assert tools["echo"]["description"].startswith("Repeats each message.")
        assert tools["echo"]["input_schema"] == {
            "type": "object",
            "properties": {"manners": {"type": "string", "default": "plain"}},
            "additionalProperties": False,
        }
        done = await caller.call("chore", word="\x1b[31mred")
        assert (done["state"], done["result"]) == ("done", {"mark": {"said": "\\u001b[31mred"}})
        assert "AnswerTruncated" in (await caller.call("failing", topic="rain"))["error"]
        assert "'manner' is not declared" in (await caller.call("echo", manner="rude"))["error"]
        assert "no MCP client started a run 'x'" in (await caller.call("status", run="x"))["error"]
        session = await caller.call("echo")
        assert session["state"] == "awaiting_message"
        refused = await caller.call("answer", run=session["run"], message="x" * 21)
        assert refused["error"] == "the message has 21 characters, not at most 20"
        first = await caller.call("answer", run=session["run"], message="hello", message_id="m1")
        again = await caller.call("answer", run=session["run"], message="hello", message_id="m1")
        assert first["reply"] == again["reply"] == "you said hello"
        await cancelled(desk, session["run"])


async def test_another_client_collects_the_result_after_the_first_was_killed(desk: Project) -> None:
    async with forked(desk, "article") as first:
        waiting = await first.call("article", topic="rain")
    run = str(waiting["run"])
    (asked,) = waiting["approvals"]
    assert (waiting["state"], asked["prompt"]) == ("waiting", "Publish It rains.")
    assert asked["decide"].startswith(f"coterie approve {run} 'review/sign_off#1'")
    async with forked(desk, "article") as second:
        await asks(desk, run)
        assert run in [one["run"] for one in (await second.call("status"))["runs"]]
        denied = await second.call("answer", run=run, message="approve")
        assert "a person's decision, which this tool never makes" in denied["error"]
        assert (await second.call("status", run=run))["state"] == "waiting"
        await approved(desk, run, str(asked["id"]))
        done = await second.call("result", run=run)
        assert done["state"] == "done"
        assert done["result"]["judge"] == {"verdict": "good"}
        assert (done["result"]["sign_off"]["by"], done["whole"]) == ("ada", True)


async def test_another_client_answers_the_question_of_one_that_was_killed(desk: Project) -> None:
    (desk.folder / "day.yml").write_text(DAY)
    async with forked(desk, "day.yml") as first:
        started = await first.call("start", team="day")
    run = str(started["run"])
    async with forked(desk, "day.yml") as second:
        schema = (await second.tools())["day"]["output_schema"]
        assert schema["properties"]["result"]["anyOf"][0]["properties"] == {"day": {}}
        await asks(desk, run)
        waiting = await second.call("result", run=run)
        assert [one["prompt"] for one in waiting["approvals"]] == ["ask/ask asks: Which day?"]
        (asked,) = waiting["approvals"]
        for seen in ({}, {"digest": "another"}, {"request": asked["id"]}):
            refused = await second.call("answer", run=run, message="Monday", **seen)
            assert asked["digest"] in refused["error"], "it says what is asked now"
        await second.call("answer", run=run, message="Monday", digest=asked["digest"])
        done = await second.call("result", run=run)
    assert (done["state"], done["result"]) == ("done", {"day": "Monday"})


async def test_an_assistant_writes_repairs_and_tests_a_team_with_the_tools_alone(
    desk: Project,
) -> None:
    (desk.folder / "config/teams/kept.yml").write_text(EXAMPLES["team"])
    (desk.folder / "outside.yml").symlink_to("/etc/hostname")
    async with forked(desk) as client:
        wrong = EXAMPLES["team"].replace("type: approval", "type: aproval")
        found = await client.call("validate", text=wrong, name="review")
        [problem] = found["problems"]
        assert (problem["code"], problem["file"]) == ("E104", "review.yml")
        assert problem["edit"]["text"] == "approval"
        lines = wrong.splitlines()
        edit = problem["edit"]
        assert lines[edit["line"] - 1][edit["column"] - 1 : edit["end_column"] - 1] == "aproval"
        assert (await client.call("validate", text=EXAMPLES["team"]))["is_valid"]
        assert "flowchart TD" in (await client.call("graph", file="kept"))["graph"]
        texts = {"text": EXAMPLES["team"], "name": "review"}
        ran = await client.call("test", tests=EXAMPLES["test"], **texts)
        assert ran["passed"], ran
        other = EXAMPLES["test"].replace("model_calls: 4", "model_calls: 5")
        ran = await client.call("test", tests=other, **texts)
        assert (ran["passed"], ran["cases"][0]["differences"][0]["place"]) == (False, "model_calls")
        assert not (desk.folder / "config/teams/review.yml").exists(), "it writes nothing"

        trusts_itself = "worker: {commands: {x: {run: [id]}}}\n" + EXAMPLES["team"]
        refused = await client.call("validate", text=trusts_itself)
        assert refused["problems"][0]["code"] == "E601"
        reaches_out = "workspace: /etc\nfiles: {../x: y}\n" + EXAMPLES["test"]
        refused = await client.call("test", tests=reaches_out, **texts)
        assert [one["path"] for one in refused["problems"]] == ["workspace", "files.../x"]
        for file in ("/etc/hostname", "../x.yml", "outside.yml", ".coterie/x.yml", "a\0b"):
            refused = await client.call("validate", file=file)
            assert "there is no file" in refused["error"], refused
