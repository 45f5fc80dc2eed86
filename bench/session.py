"""Prove that a long session continues as new and loses no message: `python -m bench.session`.

It talks to one session on a real server, served by a worker process of its own: 2,500 messages,
three at a time, with a model turn for each. With `--kill-every N` it kills the worker with SIGKILL
after every N messages. The exit code is 1 when a promise was broken.
"""

import asyncio
import json
import statistics
import sys
import tempfile
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import TypeVar

from temporalio.client import Client

from bench.stage import WorkerProcess
from coterie.runs.call_errors import Unanswered
from coterie.runs.histories.history_links import links
from coterie.runs.run_client import Run
from coterie.runs.sessions import open_session, send_message
from coterie.storage.wire import data_converter
from coterie.workflows.core.messages import SessionInput, TeamInput
from tests.chaos.book import calls_of
from tests.support.compiling import plan_of
from tests.support.servers.temporal_server import suggesting_after

TEAM = """
llm_config:
  default_provider: scripted
  default_model: demo
  personas: {writer: {prompts: {user: "{{ context.said }}"}}}
orchestration:
  entry_team: talk
  max_messages: 100000
  context: {heard: {type: integer, default: 0}, said: {type: string, default: ""}}
  teams:
    talk:
      type: chat
      chat:
        reply: "{{ tasks.message.data }} is number {{ context.heard }}{{ tasks.think.data.text }}"
        until: "{{ tasks.message.data == 'bye' }}"
      tasks:
        - name: count
          type: set
          context_updates: {heard: {increment: 1}, said: "{{ tasks.message.data }}"}
        - {name: think, persona_key: writer}
"""
SCRIPT = {"answers": [{"task": "think", "answer": "."}]}
T = TypeVar("T")
_SUGGESTED = 4096
"""Events after which a server suggests to continue as new: its default, which Coterie keeps. A
longer history replays longer after a crash; each new one starts with the whole state."""
_MIN_HISTORIES = 4
"""A session that has continued as new three times has as many."""
_GROWTH = 1.3
"""How much larger the worker may be at the end than in the first third."""
_MESSAGES = 2_500
_SENDERS = 3
_AGAIN_SECONDS = 0.5
_MEGABYTE = 1_000_000
_SESSION = "session"


@dataclass
class Figures:
    """What one session came to."""

    seconds: list[float] = field(default_factory=list[float])
    """From each message to its reply."""
    numbers: list[int] = field(default_factory=list[int])
    """The number that the session gave each message."""
    memory: list[float] = field(default_factory=list[float])
    """Megabytes of the worker, at each tenth of the messages."""
    kills: int = 0


class Served:
    """The worker of the session, and the one that follows when it is killed."""

    def __init__(self, address: str, script: Path) -> None:
        self._address = address
        self._script = script
        self.worker: WorkerProcess | None = None

    async def start(self) -> WorkerProcess:
        """Start a worker."""
        self.worker = await WorkerProcess.start("coterie", self._address, self._script)
        return self.worker

    async def kill(self) -> None:
        """Kill the worker at once, and start another one."""
        assert self.worker is not None
        await self.worker.kill()
        await self.start()


async def _send_until_reply(send: Callable[[], Coroutine[None, None, T]]) -> T:
    """Send a message until its reply comes: with the same id, it is the same message."""
    while True:
        try:
            return await send()
        except Unanswered:
            await asyncio.sleep(_AGAIN_SECONDS)  # its worker was killed, and another one starts


async def talk(client: Client, served: Served, messages: int, kill_every: int) -> Figures:
    """Send all messages, and kill the worker among them as often as asked."""
    found, run = Figures(), Run(client, _SESSION)
    worker = await served.start()
    given = TeamInput(plan=plan_of(TEAM))
    first = SessionInput(message="0")
    try:
        await open_session(
            client, _SESSION, given, first, "0", task_queue=worker.queue, summary=_SESSION
        )
    except Unanswered:  # a machine with much else to do; the session has begun
        await _send_until_reply(partial(send_message, run, first, "0"))
    ahead = asyncio.Queue[int]()
    for number in range(1, messages):
        ahead.put_nowait(number)
    killing = asyncio.Lock()

    async def send() -> None:
        while not ahead.empty():
            number = ahead.get_nowait()
            began = perf_counter()
            asked = SessionInput(message=str(number))
            reply = await _send_until_reply(partial(send_message, run, asked, str(number)))
            found.seconds.append(perf_counter() - began)
            said, _, place = str(reply).partition(" is number ")
            assert said == str(number), f"message {number} has the reply {reply!r}"
            found.numbers.append(int(place.removesuffix(".")))
            done = len(found.numbers)
            if kill_every and done % kill_every == 0:
                async with killing:
                    await served.kill()
                    found.kills += 1
            if done % max(1, messages // 10) == 0 and served.worker is not None:
                async with killing:
                    found.memory.append(await served.worker.memory() / _MEGABYTE)

    await asyncio.gather(*(send() for _ in range(_SENDERS)))
    await _send_until_reply(partial(send_message, run, SessionInput(message="bye"), "bye"))
    assert served.worker is not None
    await served.worker.stop()
    return found


@dataclass
class SessionReport:
    """What a session came to, and the promises that were broken."""

    lines: list[str]
    wrong: list[str]


async def report(client: Client, found: Figures, messages: int) -> SessionReport:
    """Compare what became of the messages with what was sent."""
    parts = [one async for one in links(client, _SESSION)]
    histories = [len(one.events) for one in parts]
    calls = [call for one in parts for call in calls_of(one)]
    answered = sum(call.completed is not None for call in calls)
    twice = len(found.numbers) - len(set(found.numbers))
    lost = set(range(2, messages + 1)) - set(found.numbers)
    ordered = sorted(found.seconds)
    lines = [
        f"{len(found.numbers) + 1} of {messages} messages answered, {len(lost)} lost, "
        f"{twice} counted twice, {found.kills} kills",
        f"{answered} model turns in {sum(call.attempts for call in calls)} attempts",
        f"{len(histories) - 1} times continued as new; histories of {histories} events",
        f"seconds from message to reply: median {statistics.median(ordered):.3f}, "
        f"slowest {ordered[-1]:.3f}",
        f"megabytes of the worker: {', '.join(f'{one:.0f}' for one in found.memory)}",
    ]
    wrong: list[str] = []
    if lost or twice:
        wrong.append(f"{len(lost)} messages were lost and {twice} counted twice")
    if answered != messages + 1:  # and one for "bye"
        wrong.append(f"{answered} model turns have an answer, not {messages + 1}")
    if messages >= _MESSAGES and len(histories) < _MIN_HISTORIES:
        wrong.append(f"{len(histories)} histories: it continued as new less than three times")
    third = max(1, len(found.memory) // 3)
    first, last = max(found.memory[:third]), max(found.memory[-third:])
    if last > _GROWTH * first:
        wrong.append(f"the worker grew from {first:.0f} to {last:.0f} MB")
    return SessionReport(lines, wrong)


async def play(messages: int, kill_every: int, suggested: int | None = None) -> SessionReport:
    """Run it on a server of its own.

    Args:
        messages: how many are sent.
        kill_every: after how many messages the worker is killed; 0 for never.
        suggested: events after which the server suggests to continue as new; None for its default.
    """
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "answers.yml"
        script.write_text(json.dumps(SCRIPT))
        async with suggesting_after(suggested or _SUGGESTED) as env:
            address = env.client.service_client.config.target_host
            client = await Client.connect(address, data_converter=data_converter)
            found = await talk(client, Served(address, script), messages, kill_every)
            return await report(client, found, messages)


def _arguments(given: list[str]) -> Namespace:
    parser = ArgumentParser(prog="python -m bench.session", description=__doc__)
    parser.add_argument("messages", nargs="?", type=int, default=_MESSAGES)
    parser.add_argument("--kill-every", type=int, default=0, metavar="N", help="messages")
    parser.add_argument("--suggested", type=int, default=_SUGGESTED, metavar="EVENTS")
    return parser.parse_args(given)


def main(given: list[str]) -> int:
    """Talk, tell what came of it, and return the exit code."""
    asked = _arguments(given)
    shown = asyncio.run(play(asked.messages, asked.kill_every, asked.suggested))
    print("\n".join([*shown.lines, *(f"WRONG {line}" for line in shown.wrong)]))
    return 1 if shown.wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
