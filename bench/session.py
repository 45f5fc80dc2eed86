"""Prove that a long session continues as new and loses no message: `python -m bench.session`.

It talks to one session on a real server, served by a worker process of its own: 2,500 messages,
three at a time. With `--kill-every N` it kills the worker with SIGKILL after every N messages.
"""

import asyncio
import json
import statistics
import sys
import tempfile
from argparse import ArgumentParser, Namespace
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter

from temporalio.client import Client

from bench import loop
from bench.stage import WorkerProcess
from coterie.replay.links import links
from coterie.runs.run_client import Run
from coterie.runs.sessions import open_session, send_message
from coterie.storage.wire import data_converter
from tests.support.compiling import plan_of
from tests.workflow.histories.test_continue_as_new import suggesting_after
from workflows.core.messages import SessionInput, TeamInput

TEAM = """
orchestration:
  entry_team: talk
  max_messages: 100000
  context: {heard: {type: integer, default: 0}}
  teams:
    talk:
      type: chat
      chat:
        reply: "{{ tasks.message.data }} is number {{ context.heard }}"
        until: "{{ tasks.message.data == 'bye' }}"
      tasks:
        - {name: count, type: set, context_updates: {heard: {increment: 1}}}
"""
_SUGGESTED = 4096
"""Events after which a server suggests to continue as new."""
_MESSAGES = 2_500
_SENDERS = 3
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


async def talk(client: Client, served: Served, asked: Namespace) -> Figures:
    """Send all messages, and kill the worker among them as often as asked."""
    found, run = Figures(), Run(client, _SESSION)
    worker = await served.start()
    given = TeamInput(plan=plan_of(TEAM))
    await open_session(
        client,
        _SESSION,
        given,
        SessionInput(message="0"),
        "0",
        task_queue=worker.queue,
        summary=_SESSION,
    )
    ahead = asyncio.Queue[int]()
    for number in range(1, asked.messages):
        ahead.put_nowait(number)
    killing = asyncio.Lock()

    async def send() -> None:
        while not ahead.empty():
            number = ahead.get_nowait()
            began = perf_counter()
            reply = await send_message(run, SessionInput(message=str(number)), str(number))
            found.seconds.append(perf_counter() - began)
            said, _, place = str(reply).partition(" is number ")
            assert said == str(number), f"message {number} has the reply {reply!r}"
            found.numbers.append(int(place))
            done = len(found.numbers)
            if asked.kill_every and done % asked.kill_every == 0:
                async with killing:
                    await served.kill()
                    found.kills += 1
            if done % max(1, asked.messages // 10) == 0 and served.worker is not None:
                async with killing:
                    found.memory.append(await served.worker.memory() / _MEGABYTE)

    await asyncio.gather(*(send() for _ in range(_SENDERS)))
    await send_message(run, SessionInput(message="bye"), "bye")
    assert served.worker is not None
    await served.worker.stop()
    return found


async def report(client: Client, found: Figures, messages: int) -> str:
    """Compare what became of the messages with what was sent."""
    histories = [len(one.events) async for one in links(client, _SESSION)]
    twice = len(found.numbers) - len(set(found.numbers))
    lost = set(range(2, messages + 1)) - set(found.numbers)
    ordered = sorted(found.seconds)
    lines = [
        f"{len(found.numbers) + 1} of {messages} messages answered, {len(lost)} lost, "
        f"{twice} counted twice, {found.kills} kills",
        f"histories of {histories} events",
        f"seconds from message to reply: median {statistics.median(ordered):.3f}, "
        f"slowest {ordered[-1]:.3f}",
        f"megabytes of the worker: {', '.join(f'{one:.0f}' for one in found.memory)}",
    ]
    if lost or twice:
        raise RuntimeError("\n".join(lines))
    return "\n".join(lines)


async def main(asked: Namespace) -> None:
    """Run it on a server of its own."""
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "answers.yml"
        script.write_text(json.dumps(loop.SCRIPT))
        async with suggesting_after(asked.suggested) as env:
            address = env.client.service_client.config.target_host
            client = await Client.connect(address, data_converter=data_converter)
            found = await talk(client, Served(address, script), asked)
            print(await report(client, found, asked.messages))


def _arguments(given: list[str]) -> Namespace:
    parser = ArgumentParser(prog="python -m bench.session", description=__doc__)
    parser.add_argument("messages", nargs="?", type=int, default=_MESSAGES)
    parser.add_argument("--kill-every", type=int, default=0, metavar="N", help="messages")
    parser.add_argument("--suggested", type=int, default=_SUGGESTED, metavar="EVENTS")
    return parser.parse_args(given)


if __name__ == "__main__":
    asyncio.run(main(_arguments(sys.argv[1:])))
