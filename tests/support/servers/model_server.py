"""The stand-in model server: real HTTP in the real protocols, answers that a test decides.

    async def test_something(model_server):
        model_server.answer("hello")
        model_server.fail(429, "slow down", retry_after=2)      # for the calls after that
        ... call url_of(api, model_server) of `asking` ...
        assert model_server.requests()[0].body["model"] == "m"

A request that no fixture fits gets a 404, which no provider tries again.
"""

import json
import subprocess
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import httpx2
import pytest

from coterie.dsl.values import Json, JsonValue
from tests.stand_in.install import command, install

_READY_SECONDS = 60.0
_LISTENING = "listening on "


@dataclass(frozen=True, slots=True)
class Recorded:
    """One request as the server's journal has it; the body is in Chat Completions' terms."""

    path: str
    headers: dict[str, str]
    body: Json
    status: int
    """What was answered; 0 when the client went away before."""


class ModelServer:
    """A running stand-in."""

    def __init__(self, process: subprocess.Popen[bytes], url: str) -> None:
        self._process = process
        self._control = httpx2.Client(base_url=f"{url}/__aimock", trust_env=False)
        self.url = self.anthropic_url = url
        self.openai_url = f"{url}/v1"

    @classmethod
    def start(cls, directory: Path, fixtures: list[Json] | None = None) -> "ModelServer":
        """Start a server on a free port and wait until it answers.

        Args:
            directory: For its files.
            fixtures: As the package documents them; more can be added while it runs.
        """
        install()
        never: Json = {"match": {"userMessage": "\x00 no prompt has this"}, "response": _TEXT}
        file = directory / "fixtures.json"
        file.write_text(json.dumps({"fixtures": fixtures or [never]}))
        log = directory / "model-server.log"
        arguments = ["--port", "0", "--fixtures", str(file), "--validate-on-load"]
        with log.open("wb") as output:
            process = subprocess.Popen(
                [*command(), *arguments], stdout=output, stderr=subprocess.STDOUT
            )
        return cls(process, _address(process, log))

    def stop(self) -> None:
        """End the server; whatever it was doing is cut."""
        self._control.close()
        self._process.kill()
        self._process.wait()

    def reset(self) -> None:
        """Forget all fixtures, errors and requests."""
        self._control.post("/reset").raise_for_status()

    def add(self, *fixtures: Json) -> None:
        """Add fixtures in the package's own form; the first that fits is used."""
        answer = self._control.post("/fixtures", json={"fixtures": list(fixtures)})
        assert answer.is_success, answer.text

    def answer(
        self,
        content: JsonValue,
        *,
        user: str | None = None,
        system: str | None = None,
        nth: int | None = None,
        **response: JsonValue,
    ) -> None:
        """Answer with a text or a JSON value.

        Args:
            content: What the model says.
            user: Only where the last user message has this text.
            system: Only where the system prompt has this text.
            nth: Only the nth such call, from 0.
            response: More of the answer: `usage`, `finishReason` (as Chat Completions has
                it), `model`.
        """
        match = _match(user, system, nth)
        self.add({"match": match, "response": {"content": content, **response}})

    def fail(
        self,
        status: int,
        message: str,
        *,
        type: str = "error",
        code: str | None = None,
        retry_after: int | None = None,
        user: str | None = None,
        nth: int | None = None,
    ) -> None:
        """Answer with an error; `retry_after` is sent with a 429 only."""
        error: Json = {"message": message, "type": type, **({"code": code} if code else {})}
        response: Json = {"error": error, "status": status}
        if retry_after is not None:
            response["retryAfter"] = retry_after
        self.add({"match": _match(user, None, nth), "response": response})

    def chaos(self, **fields: float) -> None:
        """Break every call until reset: `disconnectRate=1`, `malformedRate=1`, `latencyMs=5000`."""
        self._control.post("/chaos", json=fields).raise_for_status()

    def requests(self) -> list[Recorded]:
        """Every model call so far, oldest first."""
        return [_recorded(entry) for entry in self._control.get("/journal").json()]


_TEXT: Json = {"content": "never said"}


def _match(user: str | None, system: str | None, nth: int | None) -> Json:
    given: Json = {"userMessage": user, "systemMessage": system, "sequenceIndex": nth}
    match: Json = {key: value for key, value in given.items() if value is not None}
    return match or {"endpoint": "chat"}


def _recorded(entry: Json) -> Recorded:
    return Recorded(
        path=cast("str", entry["path"]),
        headers=cast("dict[str, str]", entry["headers"]),
        body=cast("Json", entry["body"] or {}),
        status=cast("int", cast("Json", entry["response"])["status"]),
    )


def _address(process: subprocess.Popen[bytes], log: Path) -> str:
    """Where the server listens, as it says itself once it does."""
    deadline = time.monotonic() + _READY_SECONDS
    while process.poll() is None and time.monotonic() < deadline:
        _, found, rest = log.read_text().partition(_LISTENING)
        if found and "\n" in rest:
            return rest.splitlines()[0]
        time.sleep(0.02)
    process.kill()
    raise RuntimeError(f"the stand-in model server did not start:\n{log.read_text()}")


@pytest.fixture(scope="session")
def model_server_process() -> Iterator[ModelServer]:
    """One server for all tests of a process."""
    with tempfile.TemporaryDirectory() as directory:
        server = ModelServer.start(Path(directory))
        yield server
        server.stop()


@pytest.fixture
def model_server(model_server_process: ModelServer) -> ModelServer:
    """The server, empty."""
    model_server_process.reset()
    return model_server_process
