"""Sessions under fire, and what their clients were sent compared with the histories."""

import asyncio
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

import yaml
from temporalio.api.common.v1 import WorkflowExecution
from temporalio.api.workflowservice.v1 import ResetWorkflowExecutionRequest
from temporalio.client import Client, WorkflowExecutionStatus
from temporalio.service import RPCError

from coterie.activities.contracts import AgentResponse
from coterie.failures import CommandError
from coterie.gateway.streams.cursors import Cursor
from coterie.runs.histories.history_events import read_events
from coterie.runs.histories.recorded_calls import recorded_calls
from coterie.runs.histories.recorded_events import TaskEvent
from coterie.runs.new_runs import start_run
from coterie.runs.run_client import Run
from coterie.runs.sessions import send_message
from coterie.workflows.core.messages import SessionInput, TeamInput
from tests.chaos.stream_runs.stream_clients import StreamClient
from tests.chaos.stream_runs.stream_ground import WEIGHTS, StreamGround, StreamTarget, slow_model
from tests.support.event_reading import expected_cursors
from tests.support.project import project

SAMPLE = Path(__file__).parents[1] / "stream_project"
_AGAIN_SECONDS = 0.3
_REPLY_SECONDS = 15.0
_MIN_EVENTS = 10
"""Of a history that is reset."""


@dataclass(frozen=True, slots=True)
class StreamTerms:
    """How much is played."""

    strikes: int = 200
    sessions: int = 2
    gap: tuple[float, float] = (0.3, 2.0)
    """Seconds between two strikes."""
    limit: float = 1_800.0
    """Seconds for all of it."""
    continue_after: int = 40
    needs_text: bool = True
    """Whether texts in progress must have been seen; few strikes may leave no time for it."""


@dataclass
class StreamReport:
    """What came of it."""

    lines: list[str]
    wrong: list[str]


async def play_streams(
    folder: Path, seed: int, terms: StreamTerms, tell: Callable[[str], None]
) -> StreamReport:
    """Play it in a folder that does not exist yet; nothing is left running."""
    chance = random.Random(seed)
    async with slow_model() as url, asyncio.timeout(terms.limit):
        with project(folder, {"PACED_KEY": "none"}, SAMPLE) as shop:
            _set_address(shop.folder / "coterie.yml", url)
            ground = StreamGround(shop, chance, terms.continue_after)
            shop.environment["COTERIE_ADDRESS"] = f"127.0.0.1:{ground.port}"
            made = shop.coterie("tokens", "create", "chaos", "--role", "viewer")
            assert made.returncode == 0, made.stderr
            try:
                await ground.open()
                siege = _Siege(ground, made.stdout.split()[-1], terms, tell)
                return await siege.lay()
            finally:
                ground.close()


def _set_address(file: Path, url: str) -> None:
    text = file.read_text().replace("http://127.0.0.1:1/v1", url)
    assert yaml.safe_load(text)["llm_config"]["providers"]["paced"]["api_base"] == url
    file.write_text(text)


class _Siege:
    """Messages go in, events come out, and everything between is struck."""

    def __init__(
        self, ground: StreamGround, token: str, terms: StreamTerms, tell: Callable[[str], None]
    ) -> None:
        self._ground = ground
        self._terms = terms
        self._tell = tell
        self._runs = [f"talk/{number}" for number in range(terms.sessions)]
        self._were_reset: set[str] = set()
        self._struck: dict[StreamTarget, int] = dict.fromkeys(WEIGHTS, 0)
        self._over = False
        groups = [*([run] for run in self._runs), self._runs]
        self._clients = [
            StreamClient(runs, token, ground.gateway_port, random.Random(number))
            for number, runs in enumerate(groups)
        ]

    async def lay(self) -> StreamReport:
        """Play to the end, then compare."""
        talks = [asyncio.create_task(self._talk(run)) for run in self._runs]
        following = [asyncio.create_task(client.follow()) for client in self._clients]
        for number in range(1, self._terms.strikes + 1):
            await asyncio.sleep(self._ground.chance.uniform(*self._terms.gap))
            await self._strike()
            if number == self._terms.strikes // 2:
                await self._reset(self._runs[0])
            if number % 20 == 0:
                events = sum(len(one.events[run]) for one in self._clients for run in one.runs)
                self._tell(f"{number} strikes, {events} events received")
        self._over = True
        await asyncio.gather(*talks)
        self._tell("all sessions have ended")
        await asyncio.gather(*following)
        return await self._report()

    async def _strike(self) -> None:
        [target] = self._ground.chance.choices(list(WEIGHTS), list(WEIGHTS.values()))
        self._struck[target] += 1
        if target == "client":
            self._ground.chance.choice(self._clients).cut()
        await self._ground.strike(target)

    async def _talk(self, run: str) -> None:
        await self._start(run)
        number = 0
        while not self._over:
            await self._send(run, str(number))
            number += 1
        await self._send(run, "bye")

    async def _start(self, run: str) -> None:
        while True:
            try:
                client = await self._ground.client()
                given = TeamInput(team="talk")
                await start_run(client, run, given, task_queue="coterie", summary="talk")
                return
            except CommandError:
                if await self._is_known(run):
                    return
                await asyncio.sleep(_AGAIN_SECONDS)

    async def _is_known(self, run: str) -> bool:
        try:
            await Run(await self._ground.client(), run).describe()
        except CommandError:
            return False
        return True

    async def _send(self, run: str, message: str) -> None:
        """Send a message until its reply comes.

        Each time under another id: a server answers an update that a reset repeats with an internal
        error, until the run has answered it.
        """
        while True:
            try:
                async with asyncio.timeout(_REPLY_SECONDS):
                    client = await self._ground.client()
                    asked = SessionInput(message=message)
                    await send_message(Run(client, run), asked, f"{message}-{uuid4()}")
                    return
            except (CommandError, RPCError, RuntimeError, TimeoutError):
                if await self._is_over(run):
                    return
                await asyncio.sleep(_AGAIN_SECONDS)

    async def _is_over(self, run: str) -> bool:
        try:
            described = await Run(await self._ground.client(), run).describe()
        except CommandError:
            return False
        return described.status == WorkflowExecutionStatus.COMPLETED

    async def _reset(self, run: str) -> None:
        """Reset the run to the first workflow task of its latest history."""
        while True:
            try:
                client = await self._ground.client()
                described = await Run(client, run).describe()
                if (described.history_length or 0) < _MIN_EVENTS:
                    await asyncio.sleep(_AGAIN_SECONDS)
                    continue
                request = ResetWorkflowExecutionRequest(
                    namespace=client.namespace,
                    workflow_execution=WorkflowExecution(workflow_id=run, run_id=described.run_id),
                    reason="chaos",
                    workflow_task_finish_event_id=4,
                    request_id=str(uuid4()),
                )
                self._were_reset.add(run)
                await client.workflow_service.reset_workflow_execution(request)
                self._tell(f"{run} was reset")
                return
            except (CommandError, RPCError):
                await asyncio.sleep(_AGAIN_SECONDS)

    async def _report(self) -> StreamReport:
        client = await self._ground.client()
        wrong: list[str] = []
        for run in self._runs:
            expected = await expected_cursors(client, run)
            wrong += await _check_histories(client, run, expected)
            for number, one in enumerate(self._clients):
                if run in one.runs:
                    wrong += [f"client {number}: {line}" for line in _check(one, run, expected)]
            wrong += await self._check_texts(client, run, expected)
        struck = ", ".join(f"{count} {target}" for target, count in self._struck.items())
        connections = sum(one.connections for one in self._clients)
        pieces = sum(len(one.pieces) for one in self._clients)
        kinds = [event.data["type"] for event in self._clients[0].events[self._runs[0]]]
        lines = [
            f"struck: {struck}; {connections} connections of {len(self._clients)} clients",
            f"{sum(len(e) for c in self._clients for e in c.events.values())} events received, "
            f"{pieces} pieces of text",
            f"{kinds.count('continued')} times continued as new, {kinds.count('reset')} reset",
        ]
        if not pieces and self._terms.needs_text:
            wrong.append("no client saw a text in progress")
        return StreamReport(lines, wrong)

    async def _check_texts(self, client: Client, run: str, expected: list[str]) -> list[str]:
        """Compare what clients saw of answers with what the histories record.

        A reset drops turns in progress, and their calls then answer other messages: texts in
        progress of such a run have no answer to be compared with.
        """
        answers: dict[str, set[str]] = {}
        for run_id in dict.fromkeys(Cursor.parse(text).run for text in expected):
            for call in recorded_calls(await Run(client, run).history(run_id)):
                if isinstance(call.answer, AgentResponse) and isinstance(call.answer.data, dict):
                    answers.setdefault(call.id, set()).add(str(call.answer.data.get("text")))
        wrong: list[str] = []
        for one in self._clients:
            if run not in one.runs:
                continue
            shown = one.texts[run].answers
            wrong += [f"{call}: no answer was sent" for call in answers.keys() - shown.keys()]
            wrong += [
                f"{call}: {text!r} was sent as the answer"
                for call, text in shown.items()
                if text not in answers.get(call, set())
            ]
            for piece in one.pieces:
                if piece.data["run"] == run and run not in self._were_reset:
                    wrong += _check_piece(piece.data, answers)
        return wrong


def _check_piece(data: Mapping[str, object], answers: dict[str, set[str]]) -> list[str]:
    """Compare a text in progress with the answers to its call, which are the same each time."""
    start, text, call = data["start"], str(data["text"]), str(data["call"])
    assert isinstance(start, int)
    known = answers.get(call, set())
    if not known or any(answer[start : start + len(text)] == text for answer in known):
        return []
    return [f"{call}: {text!r} at {start} is not in its answer"]


async def _check_histories(client: Client, run: str, expected: list[str]) -> list[str]:
    """Compare the positions with the histories, as the client of Temporal's SDK reads them."""
    wrong: list[str] = []
    positions = [Cursor.parse(text) for text in expected]
    for run_id in dict.fromkeys(position.run for position in positions):
        handle = client.get_workflow_handle(run, run_id=run_id)
        history = await handle.fetch_history()
        ids = [one.id for one in read_events(history.events) if not isinstance(one, TaskEvent)]
        own = [position.event for position in positions if position.run == run_id]
        if own != ids[len(ids) - len(own) :]:
            wrong.append(f"{run}: the positions of {run_id} are not those of its history")
    return wrong


def _check(client: StreamClient, run: str, expected: list[str]) -> list[str]:
    """Compare what a client was sent with what it had to be sent."""
    seen = [str(event.data["cursor"]) for event in client.events[run]]
    if seen == expected:
        return []
    lost = [one for one in expected if one not in set(seen)]
    twice = len(seen) - len(set(seen))
    place = next(
        (n for n, (a, b) in enumerate(zip(seen, expected, strict=False)) if a != b),
        min(len(seen), len(expected)),
    )
    return [
        f"{run}: {len(seen)} of {len(expected)} events, {len(lost)} lost, {twice} twice, "
        f"first difference at {place}: {seen[place : place + 2]} not {expected[place : place + 2]}"
    ]
