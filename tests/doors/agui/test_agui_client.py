"""The client of AG-UI from npm: through 50 cuts, without the wrapper, over a killed gateway."""

import json
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any
from urllib.request import Request, urlopen
from uuid import uuid4

import pytest

from tests.doors.agui.cutting_proxy import cutting_proxy
from tests.doors.conftest import PATIENCE, free_port, server_stopped
from tests.stand_in.install import install, node
from tests.support.servers.streamed_model import StreamedModel, streamed_model

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
TEAM = """
description: Answers questions about our invoices.
llm_config:
  default_provider: desk
  default_model: m
  providers: {{desk: {{kind: openai, api_base: "{url}"}}}}
  personas:
    helper:
      stream: true
      tools: [add, note]
      prompts: {{system: You help., user: "{{{{ context.message }}}}"}}
tools:
  add: {{skill: Calculator.evaluate, description: Adds.}}
  note: {{skill: Files.write, description: Writes a note., requires_approval: true}}
orchestration:
  entry_team: work
  context: {{message: {{type: string}}, found: {{type: string, default: ""}}}}
  teams:
    work:
      tasks: [{{name: act, persona_key: helper}}]
      routing:
        rules:
          - condition: all_success
            next_team: last
            context_updates: {{found: "{{{{ tasks.act.data.text }}}}"}}
        default: null
    last: {{tasks: [{{name: say, type: set, values: {{done: "yes"}}}}]}}
"""
CONFIGURATION = "worker: { workspace: . }\n"


@dataclass
class Desk:
    """A gateway in a project, the model behind its team, and a token."""

    folder: Path
    port: int
    model: StreamedModel
    wrapper: Path
    token: str = ""
    process: subprocess.Popen[str] | None = None
    rest: threading.Thread | None = None
    killed: list[IO[str]] = field(default_factory=list[IO[str]])
    """The output of gateways that were killed."""

    def start(self) -> None:
        """Start the gateway, and wait until it listens."""
        serve = ["serve", "--no-browser", "--port", str(self.port)]
        self.process = subprocess.Popen(
            [sys.executable, "-m", "coterie", *serve],
            cwd=self.folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        assert self.process.stdout is not None
        lines: list[str] = []
        for line in self.process.stdout:
            lines.append(line)
            if re.search(r"open +http", line):
                break
        else:
            pytest.fail("".join(lines))
        self.rest = threading.Thread(target=self.process.stdout.read, daemon=True)
        self.rest.start()  # so that it never blocks

    def stop(self, how: signal.Signals = signal.SIGINT) -> None:
        assert self.process is not None
        self.process.send_signal(how)
        self.process.wait(PATIENCE)
        assert self.rest is not None
        assert self.process.stdout is not None
        if how == signal.SIGINT:
            self.rest.join(PATIENCE)
            self.process.stdout.close()
        else:
            self.killed.append(self.process.stdout)  # its worker still has the other end

    def command(self, *words: str) -> str:
        made = subprocess.run(
            [sys.executable, "-m", "coterie", *words],
            cwd=self.folder,
            capture_output=True,
            text=True,
            check=True,
        )
        return made.stdout

    def get(self, path: str) -> Any:
        headers = {"Authorization": f"Bearer {self.token}"}
        asked = Request(f"http://127.0.0.1:{self.port}{path}", headers=headers)
        with urlopen(asked, timeout=PATIENCE) as answer:
            return json.load(answer)

    @contextmanager
    def driven(
        self,
        runs: Sequence[dict[str, Any]],
        *,
        origin: str = "",
        is_resumable: bool = True,
        text: str = "Is number 7 paid?",
    ) -> Generator["Driven"]:
        """Run the client until the block ends; with `repeats` it asks again when it is cut."""
        asked = {
            "url": f"{origin or f'http://127.0.0.1:{self.port}'}/agui/desk",
            "headers": {"Authorization": f"Bearer {self.token}"},
            "wrapper": str(self.wrapper) if is_resumable else None,
            "thread": f"thread-{runs[0]['runId']}",
            "messages": [{"id": "asked", "role": "user", "content": text}],
            "state": {},
            "runs": list(runs),
            "repeats": not is_resumable,
        }
        process = subprocess.Popen(
            [str(node()), str(HERE / "drive.mjs"), json.dumps(asked)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        with process:
            try:
                yield Driven(process)
            finally:
                process.kill()


class Driven:
    """A client at work."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self._said = ""
        """What the client has printed of texts and of its progress."""
        self._more = threading.Condition()
        self._reading = threading.Thread(target=self._read, daemon=True)
        self._reading.start()

    def _read(self) -> None:
        assert self._process.stderr is not None
        for line in self._process.stderr:
            with self._more:
                self._said += line.removeprefix("text ").removesuffix("\n")
                self._more.notify_all()

    def wait_for(self, words: str) -> None:
        """Wait until the client has got some text."""
        with self._more:
            assert self._more.wait_for(lambda: words in self._said, PATIENCE), self._said

    def proceed(self) -> None:
        """Let it answer what has interrupted it."""
        assert self._process.stdin is not None
        self._process.stdin.write("\n")
        self._process.stdin.flush()

    def result(self) -> dict[str, Any]:
        """Wait for its end."""
        assert self._process.stdout is not None
        output = self._process.stdout.read()
        self._reading.join(PATIENCE)
        assert output, self._said
        return json.loads(output)


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    try:
        install(HERE)
    except RuntimeError as error:
        pytest.skip(f"NOT RUN: npm could not install the client: {str(error).strip()[-200:]}")
    folder = tmp_path_factory.mktemp("desk")
    (folder / "config/teams").mkdir(parents=True)
    (folder / "coterie.yml").write_text(CONFIGURATION)
    wrapper = folder / "resumable.mjs"
    page = (ROOT / "docs/ag-ui.md").read_text()
    (code,) = re.findall(r"```js\n(// resumable\.js\n.*?)```", page, re.DOTALL)
    wrapper.write_text(code)
    with streamed_model() as model, server_stopped(folder):
        (folder / "config/teams/desk.yml").write_text(TEAM.format(url=model.url))
        made = Desk(folder, free_port(), model, wrapper)
        roles = [word for role in ("viewer", "starter", "approver") for word in ("--role", role)]
        made.token = made.command("tokens", "create", "page", *roles).split()[-1]
        made.start()
        yield made
        made.stop()
    for output in made.killed:
        output.close()


def run_id() -> str:
    return f"run-{uuid4().hex[:8]}"


def text_of(result: dict[str, Any]) -> str:
    return result["messages"][-1]["content"]


def context_of(desk: Desk, run: str) -> Any:
    return desk.get(f"/v1/runs/{run}/state?path=context")["value"]


def test_50_cuts_lose_and_repeat_no_event_with_the_wrapper_of_the_docs(desk: Desk) -> None:
    run = run_id()
    with (
        cutting_proxy(desk.port, cuts=50) as proxy,
        desk.driven([{"runId": run}], origin=proxy.url) as client,
    ):
        desk.model.say("Let me add. ")
        desk.model.call("add", '{"expression": "3 + 4"}')
        words: list[str] = []
        while proxy.cuts < 50:
            words.append(f"Zeile {len(words)}: äöü 7. ")
            desk.model.say(words[-1])
            client.wait_for(words[-10:][0])  # a model is a little ahead of its readers
        desk.model.end("Paid.")
        result = client.result()
    assert proxy.cuts >= 50
    assert result["problems"] == []
    assert result["attempts"] == 1
    assert len(set(result["ids"])) == len(result["ids"]), "an event came twice"
    assert text_of(result) == "".join([*words, "Paid."])
    kinds = result["types"]
    assert [kinds.count(f"TOOL_CALL_{part}") for part in ("START", "ARGS", "END", "RESULT")] == [
        1
    ] * 4
    assert kinds.count("TEXT_MESSAGE_START") == kinds.count("TEXT_MESSAGE_END") == 2
    assert kinds[-1] == "RUN_FINISHED"
    assert result["state"] == context_of(desk, run)
    assert result["state"]["found"] == text_of(result)


def test_a_client_without_the_wrapper_has_the_state_of_the_run_after_it_comes_back(
    desk: Desk,
) -> None:
    run = run_id()
    with (
        cutting_proxy(desk.port, cuts=3) as proxy,
        desk.driven([{"runId": run}], origin=proxy.url, is_resumable=False) as client,
    ):
        desk.model.say("Let me add. ")
        desk.model.call("add", '{"expression": "3 + 4"}')
        desk.model.say("Number 7 ")
        client.wait_for("Number 7 ")
        desk.model.end("is paid.")
        result = client.result()
    assert result["ended"]
    assert result["attempts"] > 1
    roles = [message["role"] for message in result["messages"]]
    assert roles == ["user", "assistant", "tool", "assistant"]
    assert text_of(result) == "Number 7 is paid."
    assert result["state"] == context_of(desk, run)


def test_a_gateway_that_is_killed_loses_nothing(desk: Desk) -> None:
    run = run_id()
    with desk.driven([{"runId": run}]) as client:
        desk.model.say("Number 7 ")
        client.wait_for("Number 7 ")
        desk.stop(signal.SIGKILL)
        desk.model.say("is ")
        desk.start()
        desk.model.end("paid.")
        result = client.result()
    assert result["problems"] == []
    assert result["attempts"] == 1
    assert len(set(result["ids"])) == len(result["ids"])
    assert text_of(result) == "Number 7 is paid."
    assert result["state"] == context_of(desk, run)


@pytest.mark.parametrize("is_elsewhere", [False, True], ids=["here", "decided elsewhere first"])
def test_an_approval_is_answered_by_resume(desk: Desk, is_elsewhere: bool) -> None:
    run, note = run_id(), f"{uuid4().hex}.txt"
    answer = {"status": "resolved", "payload": {"approved": True, "comment": "fine"}}
    runs = [{"runId": run}, {"runId": f"{run}-2", "resume": answer}]
    desk.model.call("note", json.dumps({"path": note, "content": "7 is paid."}))
    with desk.driven(runs) as client:
        client.wait_for("interrupted")
        assert not (desk.folder / note).exists()
        if is_elsewhere:
            desk.command("approve", run)
        desk.model.end("I have noted it.")
        client.proceed()
        result = client.result()
    assert result["problems"] == []
    assert result["pendingInterrupts"] == []
    assert result["types"].count("RUN_FINISHED") == 2
    assert text_of(result) == "I have noted it."
    assert (desk.folder / note).read_text() == "7 is paid."
    assert result["state"] == context_of(desk, run)
