"""How soon the text of a running turn is seen: `python -m bench.streaming`.

A server that speaks OpenAI's protocol writes an answer over ten seconds, a word every tenth of a
second. A real `coterie worker` asks it, and this process follows the run as `coterie watch` does.
Each word is timed from the moment at which it was written. A second run with the same answer and
without `stream` shows what the history would be otherwise.
"""

import argparse
import asyncio
import json
import os
import statistics
import sys
import sysconfig
import time
import uuid
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass, field
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import yaml
from temporalio.client import Client
from temporalio.testing import WorkflowEnvironment

from coterie.runs.ends.end_words import incomplete_reason
from coterie.runs.live_texts import POLL_SECONDS, TextFollower, live_answers
from coterie.runs.new_runs import start_run
from coterie.runs.run_client import Run
from coterie.storage.wire import data_converter
from coterie.workflows.core.messages import TeamInput

RESULTS = Path(__file__).parent / "results-streaming.json"
_PAUSE = 0.1
_TEAMS = ("streamed", "whole")
_HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n"
_SCRIPTS = Path(sysconfig.get_path("scripts"))


@dataclass(slots=True)
class PacedModel:
    """Writes one answer, word by word."""

    words: int
    written: list[float] = field(default_factory=list[float])
    """When each word of the latest answer was written."""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer one request; one without `stream` is answered at once."""
        head = await reader.readuntil(b"\r\n\r\n")
        length = next(
            int(line.split(b":")[1])
            for line in head.lower().split(b"\r\n")
            if line.startswith(b"content-length:")
        )
        asked = json.loads(await reader.readexactly(length))
        if asked.get("stream"):
            await self._stream(writer)
        else:
            message = {"role": "assistant", "content": "".join(map(_word, range(self.words)))}
            whole = json.dumps({"choices": [{"finish_reason": "stop", "message": message}]})
            lines = (
                b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\n\r\n"
            )
            writer.write(lines + whole.encode())
        await writer.drain()
        writer.close()

    async def _stream(self, writer: asyncio.StreamWriter) -> None:
        self.written.clear()
        writer.write(_HEAD)
        for number in range(self.words):
            last = number == self.words - 1
            writer.write(_piece(_word(number), "stop" if last else None))
            await writer.drain()
            self.written.append(time.monotonic())
            await asyncio.sleep(_PAUSE)
        writer.write(b"data: [DONE]\n\n")


def _word(number: int) -> str:
    return f"w{number:04} "


def _piece(text: str, finish: str | None) -> bytes:
    choice = {"index": 0, "delta": {"content": text}, "finish_reason": finish}
    return f"data: {json.dumps({'model': 'paced', 'choices': [choice]})}\n\n".encode()


def _config(url: str) -> dict[str, object]:
    """The provider, and two personas that differ in whether they stream."""
    provider = {"kind": "openai", "api_base": url, "api_key_env": "PACED_KEY"}
    personas = {
        team: {"prompts": {"user": "Write."}, "stream": team == "streamed"} for team in _TEAMS
    }
    names = {"default_provider": "paced", "default_model": "paced"}
    return {"llm_config": {**names, "providers": {"paced": provider}, "personas": personas}}


def _team(name: str) -> dict[str, object]:
    task = {"name": "write", "agent_type": "generic_single_shot", "persona_key": name}
    return {"orchestration": {"entry_team": "work", "teams": {"work": {"tasks": [task]}}}}


@asynccontextmanager
async def _worker(address: str, url: str, folder: Path) -> AsyncGenerator[None]:
    """A worker that has both teams, and knows the server of the model."""
    config = folder / "config"
    (config / "teams").mkdir(parents=True)
    (config / "system_config.yml").write_text(yaml.safe_dump(_config(url)))
    for name in _TEAMS:
        (config / "teams" / f"{name}.yml").write_text(yaml.safe_dump(_team(name)))
    process = await asyncio.create_subprocess_exec(
        _SCRIPTS / "coterie",
        "worker",
        cwd=folder,
        env={**os.environ, "COTERIE_ADDRESS": address, "PACED_KEY": "none"},
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.DEVNULL,
    )
    try:
        yield
    finally:
        process.terminate()
        await process.wait()


@dataclass(frozen=True, slots=True)
class Lag:
    """How late the words of one answer were seen, in seconds."""

    words: int
    seen: int
    median: float
    p95: float
    longest: float
    events: int
    events_without_stream: int


async def measured(words: int) -> Lag:
    """Follow one answer."""
    model = PacedModel(words)
    server = await asyncio.start_server(model.serve, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    start: Any = WorkflowEnvironment.start_local  # pyright: ignore
    temporal = str(_SCRIPTS / "temporal")
    with TemporaryDirectory() as folder:
        async with (
            await start(
                dev_server_existing_path=temporal,
                dev_server_startup_timeout=timedelta(minutes=1),
                data_converter=data_converter,
            ) as env,
            _worker(env.client.service_client.config.target_host, url, Path(folder)),
        ):
            whole = await _run(env.client, "whole")
            await _require_completion(whole)  # and the worker has loaded what it needs
            streamed = await _run(env.client, "streamed")
            seen = await _follow_words(streamed)
            events = await _events(streamed), await _events(whole)
    server.close()
    lags = sorted(at - model.written[number] for number, at in seen.items())
    return Lag(
        words,
        len(lags),
        statistics.median(lags),
        lags[int(len(lags) * 0.95)],
        lags[-1],
        *events,
    )


async def _run(client: Client, team: str) -> Run:
    id = f"bench-{uuid.uuid4().hex[:8]}"
    given = TeamInput(team=team)
    await start_run(client, id, given, task_queue="coterie", summary=id)
    return Run(client, id)


async def _follow_words(run: Run) -> dict[int, float]:
    """Return when each word was seen, until the run has ended."""
    text, seen = "", dict[int, float]()

    async def watch() -> None:
        nonlocal text
        follower = TextFollower()
        while True:
            pieces = follower.pieces(await live_answers(await run.describe(), {}))
            text += "".join(piece.text for piece in pieces)
            at = time.monotonic()
            for word in text.split(" ")[:-1]:
                seen.setdefault(int(word[1:]), at)
            await asyncio.sleep(POLL_SECONDS)

    watching = asyncio.create_task(watch())
    await _require_completion(run)
    watching.cancel()
    return seen


async def _require_completion(run: Run) -> None:
    end = await run.end()
    if not end.completed:
        raise SystemExit(f"the run failed: {incomplete_reason(end)}")


async def _events(run: Run) -> int:
    return len((await run.history()).events)


def main() -> None:
    """Measure, print a table, and write the rows."""
    parser = argparse.ArgumentParser(prog="python -m bench.streaming", description=__doc__)
    parser.add_argument("--words", type=int, default=100, help="ten a second (100)")
    parser.add_argument("--rounds", type=int, default=3, help="answers that are followed (3)")
    arguments = parser.parse_args()
    rows: list[Lag] = []
    print("answer   words seen   median      95%   longest   events   without stream")
    for number in range(arguments.rounds):
        row = asyncio.run(measured(arguments.words))
        rows.append(row)
        print(
            f"{number + 1:6} {row.seen:5} of {row.words:3} {row.median:6.2f} s {row.p95:6.2f} s "
            f"{row.longest:7.2f} s {row.events:8} {row.events_without_stream:16}",
            flush=True,
        )
    RESULTS.write_text(json.dumps([asdict(row) for row in rows], indent=2) + "\n")
    print(f"{RESULTS} written", file=sys.stderr)


if __name__ == "__main__":
    main()
