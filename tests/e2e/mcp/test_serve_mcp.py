"""Teams as MCP tools: a real client of the SDK talks to `coterie serve --mcp`, and dies."""

import asyncio
import json
import signal
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

from coterie.runs.run_client import Run
from tests.support.places import ROOT
from tests.support.project import BIN, Project
from workflows.core.messages import DecideInput

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


class Caller:
    """A client process, and the server that it has started."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process

    def ask(self, **asked: object) -> dict[str, Any]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{json.dumps(asked)}\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())

    def call(self, tool: str, **arguments: object) -> dict[str, Any]:
        return self.ask(tool=tool, arguments=arguments)

    def kill(self) -> None:
        self._process.send_signal(signal.SIGKILL)
        self._process.wait()


@contextmanager
def client(desk: Project, *teams: str) -> Generator[Caller]:
    caller = str(ROOT / "tests" / "support" / "programs" / "mcp_caller.py")
    server = [str(BIN / "coterie"), "serve", "--mcp", "--wait", "30s", *teams]
    with (desk.folder / "serve.log").open("ab") as log:
        process = subprocess.Popen(
            [sys.executable, caller, *server],
            cwd=desk.folder,
            env=desk.environment,
            text=True,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
        )
    try:
        yield Caller(process)
    finally:
        process.kill()
        process.communicate()


async def approved(desk: Project, run: str, request: str) -> None:
    by_ada = DecideInput(id=request, decision="approve", by="ada")
    await Run(await desk.client(), run).decide(by_ada)


async def cancelled(desk: Project, run: str) -> None:
    session = Run(await desk.client(), run)
    await session.cancel("the test is over")
    assert not (await session.end()).completed


def test_a_client_lists_and_calls_teams_and_talks_to_a_session(desk: Project) -> None:
    (desk.folder / "echo.yml").write_text(ECHO)
    with client(desk, "chore", "failing", "echo.yml") as caller:
        tools = caller.ask()
        assert list(tools) == ["chore", "echo", "failing", "start", "status", "answer", "result"]
        assert tools["echo"]["description"].startswith("Repeats each message.")
        assert tools["echo"]["input_schema"] == {
            "type": "object",
            "properties": {"manners": {"type": "string", "default": "plain"}},
            "additionalProperties": False,
        }
        done = caller.call("chore", word="\x1b[31mred")
        assert (done["state"], done["result"]) == ("done", {"mark": {"said": "\\u001b[31mred"}})
        assert "AnswerTruncated" in caller.call("failing", topic="rain")["error"]
        assert "'manner' is not declared" in caller.call("echo", manner="rude")["error"]
        assert "no MCP client started a run 'x'" in caller.call("status", run="x")["error"]
        session = caller.call("echo")
        assert session["state"] == "awaiting_message"
        refused = caller.call("answer", run=session["run"], message="x" * 21)
        assert refused["error"] == "the message has 21 characters, not at most 20"
        first = caller.call("answer", run=session["run"], message="hello", message_id="m1")
        again = caller.call("answer", run=session["run"], message="hello", message_id="m1")
        assert first["reply"] == again["reply"] == "you said hello"
        asyncio.run(cancelled(desk, session["run"]))


def test_another_client_collects_the_result_after_the_first_was_killed(desk: Project) -> None:
    with client(desk, "article") as first:
        waiting = first.call("article", topic="rain")
        first.kill()
    run = str(waiting["run"])
    (asked,) = waiting["approvals"]
    assert (waiting["state"], asked["prompt"]) == ("waiting", "Publish It rains.")
    assert asked["decide"].startswith(f"coterie approve {run} 'review/sign_off#1'")
    with client(desk, "article") as second:
        assert run in [one["run"] for one in second.call("status")["runs"]]
        denied = second.call("answer", run=run, message="approve")
        assert "a person's decision, which this tool never makes" in denied["error"]
        assert second.call("status", run=run)["state"] == "waiting"
        asyncio.run(approved(desk, run, str(asked["id"])))
        done = second.call("result", run=run)
        assert done["state"] == "done"
        assert done["result"]["judge"] == {"verdict": "good"}
        assert (done["result"]["sign_off"]["by"], done["whole"]) == ("ada", True)


def test_another_client_answers_the_question_of_one_that_was_killed(desk: Project) -> None:
    (desk.folder / "day.yml").write_text(DAY)
    with client(desk, "day.yml") as first:
        started = first.call("start", team="day")
        first.kill()
    run = str(started["run"])
    with client(desk, "day.yml") as second:
        schema = second.ask()["day"]["output_schema"]
        assert schema["properties"]["result"]["anyOf"][0]["properties"] == {"day": {}}
        waiting = second.call("result", run=run)
        assert [one["prompt"] for one in waiting["approvals"]] == ["ask/ask asks: Which day?"]
        second.call("answer", run=run, message="Monday")
        done = second.call("result", run=run)
    assert (done["state"], done["result"]) == ("done", {"day": "Monday"})
