"""Teams as MCP tools over HTTP: a token, tasks, and questions to the person at the client."""

import asyncio
import os
import re
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import httpx2
import mcp_types as types
import pytest
from mcp import Client, MCPError
from mcp.client.streamable_http import streamable_http_client
from pydantic import TypeAdapter

from coterie.activities.mcp_client.task_protocol import (
    CancelTask,
    CreatedTask,
    FollowsTasks,
    GetTask,
    TaskDetails,
    TaskIdParams,
    TaskReplyParams,
    UpdateTask,
)
from coterie.dsl.values import Json
from coterie.runs.run_client import Run
from coterie.workflows.core.messages import DecideInput
from tests.support.programs.command_server import Running, command_server
from tests.support.project import Project

TRIP = r"""
description: Books a trip.
tools: {ask_person: {skill: Person.ask}}
orchestration:
  entry_team: trip
  teams:
    trip:
      tasks:
        - {name: day, type: tool, tool: ask_person, arguments: {question: Which day?}}
        - name: sign
          type: approval
          prompt: "Book {{ tasks.day.data.answer }}?"
          show: {price: 120}
          via: mcp
        - {name: pay, type: approval, prompt: Pay?}
"""
TOKEN = "a-token-of-this-test"


class Served:
    """A server over HTTP."""

    def __init__(self, url: str, process: Running) -> None:
        self.url = url
        self.process = process

    @asynccontextmanager
    async def client(self, **options: Any) -> AsyncGenerator[Client]:
        """A client of the SDK that knows the token."""
        headers = {"Authorization": f"Bearer {TOKEN}"}
        async with (
            httpx2.AsyncClient(headers=headers, trust_env=False, timeout=60) as http,
            Client(streamable_http_client(self.url, http_client=http), **options) as client,
        ):
            yield client

    def kill(self) -> None:
        """End the server as a crash does."""
        self.process.kill()
        self.process.wait()


@contextmanager
def served(desk: Project) -> Generator[Served]:
    arguments = ("serve", "--mcp", "--port", "0", "--token-env", "MCP_TOKEN", "--wait", "30s")
    environment = {**desk.environment, "MCP_TOKEN": TOKEN}
    source, target = os.pipe()
    with open(source, encoding="utf-8") as errors, open(os.devnull, "r+b") as none:
        files = (none.fileno(), none.fileno(), target)
        process = command_server().begin((*arguments, "trip.yml"), desk.folder, environment, files)
        os.close(target)
        try:
            for line in errors:
                found = re.search(r"http://127\.0\.0\.1:\d+/mcp", line)
                if found is not None:
                    break
            else:
                raise AssertionError("the server has ended")
            yield Served(found[0], process)
        finally:
            process.terminate()
            process.wait(timeout=60)


async def task_at(client: Client, id: str, *states: str) -> TaskDetails:
    """Poll a task until it is in one of these states."""
    while True:
        details = await client.session.send_request(
            GetTask(params=TaskIdParams(task_id=id)), TaskDetails
        )
        if details.status in states:
            return details
        await asyncio.sleep(0.2)  # between two polls


async def reported(client: Client, tool: str, **arguments: str) -> dict[str, Any]:
    return (await client.call_tool(tool, {**arguments})).structured_content or {}


async def called_as_task(client: Client) -> str:
    params = types.CallToolRequestParams(name="trip", arguments={})
    form: TypeAdapter[Any] = TypeAdapter(CreatedTask)
    created = await client.session.send_request(types.CallToolRequest(params=params), form)
    assert (created.result_type, created.status) == ("task", "working")
    return created.task_id


async def approved(desk: Project, id: str) -> None:
    """Let a person approve the one request of a run."""
    run = Run(await desk.client(), id)
    (asked,) = await run.pending()
    await run.decide(DecideInput(id=asked.id, decision="approve", by="ada"))


def accepted(**content: str | int | float | bool | list[str] | None) -> types.ElicitResult:
    return types.ElicitResult(action="accept", content=content)


async def update(client: Client, id: str, key: str, answer: types.ElicitResult) -> None:
    params = TaskReplyParams(task_id=id, input_responses={key: answer})
    await client.session.send_request(UpdateTask(params=params), types.EmptyResult)


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 401),
        ({"Authorization": "Bearer another-token"}, 401),
        ({"Authorization": f"Basic {TOKEN}"}, 401),
        ({"Authorization": TOKEN}, 401),
        ({"Authorization": f"Bearer {TOKEN}", "Host": "evil.example"}, 421),
        ({"Authorization": f"Bearer {TOKEN}", "Origin": "https://evil.example"}, 403),
    ],
)
@pytest.mark.parametrize("version", ["2025-11-25", "2026-07-28"])
async def test_requests_of_strangers_are_refused(
    serving: Served, headers: dict[str, str], status: int, version: str
) -> None:
    given = {"Accept": "application/json, text/event-stream", "Mcp-Protocol-Version": version}
    body: Json = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
    async with httpx2.AsyncClient(trust_env=False) as http:
        answer = await http.post(serving.url, json=body, headers={**given, **headers})
    assert answer.status_code == status


@pytest.fixture(scope="module")
def serving(desk: Project) -> Generator[Served]:
    (desk.folder / "trip.yml").write_text(TRIP)
    with served(desk) as one:
        yield one


async def test_a_run_is_a_task_that_another_process_answers_and_ends(desk: Project) -> None:
    (desk.folder / "trip.yml").write_text(TRIP)
    with served(desk) as first:
        async with first.client(extensions=[FollowsTasks()]) as client:
            id = await called_as_task(client)
        first.kill()
    info = types.Implementation(name="desk", version="1")
    with served(desk) as second:
        async with second.client() as plain:
            with pytest.raises(MCPError, match="declare the extension"):
                await task_at(plain, id, "working")
        async with second.client(extensions=[FollowsTasks()], client_info=info) as client:
            with pytest.raises(MCPError, match="no MCP client started a run 'x'"):
                await task_at(client, "x", "working")
            asked = await task_at(client, id, "input_required")
            [(key, request)] = (asked.input_requests or {}).items()
            assert isinstance(request.params, types.ElicitRequestFormParams)
            assert "Which day?" in request.params.message
            with pytest.raises(MCPError, match="answer"):
                await update(client, id, key, accepted(answer=""))
            await update(client, id, "another", accepted(answer="Sunday"))
            await update(client, id, key, accepted(answer="Monday"))
            while key in (asked.input_requests or {}):
                asked = await task_at(client, id, "input_required")
            [(key, request)] = (asked.input_requests or {}).items()
            assert isinstance(request.params, types.ElicitRequestFormParams)
            assert "Book Monday?" in request.params.message
            assert '"price": 120' in request.params.message
            await update(client, id, key, accepted(comment="go"))
            held = await task_at(client, id, "working")
            while "a person must decide" not in (held.status_message or ""):
                held = await task_at(client, id, "working")
            other = await called_as_task(client)
            cancelling = CancelTask(params=TaskIdParams(task_id=other))
            await client.session.send_request(cancelling, types.EmptyResult)
            await task_at(client, other, "cancelled")
            await approved(desk, id)
        async with second.client(extensions=[FollowsTasks()], client_info=info) as client:
            done = await task_at(client, id, "completed")
    report = (done.result or {})["structuredContent"]
    assert (report["state"], report["result"]["day"]["answer"]) == ("done", "Monday")
    assert report["result"]["pay"]["by"] == "ada"
    decided = desk.coterie("why", id).stdout
    assert "mcp:desk" in decided


async def test_a_client_with_forms_answers_within_its_call(desk: Project) -> None:
    (desk.folder / "trip.yml").write_text(TRIP)
    shown: list[str] = []

    async def person(context: object, params: types.ElicitRequestParams) -> types.ElicitResult:
        shown.append(params.message)
        return accepted(answer="Friday") if "Which day?" in params.message else accepted()

    with served(desk) as server:
        async with server.client(elicitation_callback=person) as client:
            waits = await reported(client, "trip")
        assert [text.split("\n")[0].rpartition(": ")[2] for text in shown] == [
            "Which day?",
            "Book Friday?",
        ]
        assert (waits["state"], waits["approvals"][0]["prompt"]) == ("waiting", "Pay?")


async def test_a_client_without_forms_answers_questions_and_never_approvals(desk: Project) -> None:
    (desk.folder / "trip.yml").write_text(TRIP)
    with served(desk) as server:
        async with server.client(mode="legacy") as client:
            waits = await reported(client, "trip")
            [asked] = waits["approvals"]
            assert (asked["is_question"], waits["next"][:13]) == (True, "ask your user")
            run = str(waits["run"])
            await client.call_tool(
                "answer", {"run": run, "digest": asked["digest"], "message": "Friday"}
            )
            waits = await reported(client, "result", run=run)
            assert waits["approvals"][0]["prompt"] == "Book Friday?"
            refused = await client.call_tool("answer", {"run": run, "message": "yes"})
            assert refused.is_error
            assert "which this tool never makes" in str(refused.content)
