"""Runs go on while what serves them is killed, until all have ended or do not move any more."""

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import timedelta

from pydantic import JsonValue
from temporalio.client import Client
from temporalio.service import RPCError, RPCStatusCode

from coterie.failures import CommandError
from coterie.runs.new_runs import start_run
from coterie.runs.run_client import Run
from coterie.runs.run_list import open_executions
from coterie.runs.sessions import MessageRefusedError, send_message
from coterie.workflows.core.messages import SessionInput, TeamInput
from tests.chaos.ground import Ground
from tests.chaos.people import People

TEAM = "book"
UNDISTURBED = "r0000"
_LOOK = 0.5


@dataclass(frozen=True, slots=True)
class Terms:
    """How hard it is."""

    runs: int
    kills: int
    open_at_once: int = 40
    gap: tuple[float, float] = (1.0, 15.0)
    """Seconds between two kills, at least and at most."""
    patience: float = 120.0
    """A run is wedged when its history does not grow for so long, and nothing was killed."""
    freezes: bool = False
    """Workers and server are frozen too, for up to 20 s."""
    limit: float = 3600.0
    """Seconds for everything."""


@dataclass
class Progress:
    """How far a run has come, as far as anybody has looked."""

    events: int
    since: float
    looked: float


@dataclass
class Siege:
    """One go."""

    ground: Ground
    people: People
    client: Client
    terms: Terms
    tell: Callable[[str], None]
    started: dict[str, Run] = field(default_factory=dict[str, Run])
    replies: dict[str, JsonValue] = field(default_factory=dict[str, JsonValue])
    """What each run replied to its message; of a refused one, the refusal."""
    _open: dict[str, Run] = field(default_factory=dict[str, Run])
    _talks: list["asyncio.Task[None]"] = field(default_factory=list["asyncio.Task[None]"])
    wedged: dict[str, str] = field(default_factory=dict[str, str])
    """What does not move any more, and since when."""
    seconds: float = 0.0
    _killed: float = 0.0
    _moved: dict[str, Progress] = field(default_factory=dict[str, Progress])

    async def lay(self) -> None:
        """The undisturbed run, then all others under fire."""
        began = time.monotonic()
        await self._start(UNDISTURBED)
        await self._until_all_ended(began)
        ids = [f"r{number:04}" for number in range(1, self.terms.runs + 1)]
        killing = asyncio.create_task(self._kill())
        starting = asyncio.create_task(self._start_all(ids))
        try:
            await self._until_all_ended(began, starting)
            await asyncio.wait(self._talks, timeout=self.terms.patience)
        finally:
            for task in (killing, starting, *self._talks):
                task.cancel()
            await asyncio.gather(killing, starting, *self._talks, return_exceptions=True)
        self.seconds = time.monotonic() - began

    async def _start(self, id: str) -> None:
        while True:
            try:
                await start_run(
                    self.client,
                    id,
                    TeamInput(team=TEAM, context={"who": id}),
                    task_queue="coterie",
                    summary=id,
                )
            except CommandError as error:
                if "already" not in str(error):
                    await asyncio.sleep(_LOOK)  # the server is away
                    continue
            self.started[id] = self._open[id] = Run(self.client, id)
            await self._say_word(id)
            self._talks.append(asyncio.create_task(self._talk(id)))
            return

    async def _talk(self, id: str) -> None:
        """One message of a session: sent again with its id until its reply has come."""
        asked = SessionInput(message=id, by="ann")
        while True:
            try:
                sent = send_message(self.started[id], asked, f"{id}-question")
                self.replies[id] = await asyncio.wait_for(sent, 20)
                return
            except MessageRefusedError as refused:
                self.replies[id] = f"refused: {refused.code}"
                return
            except (CommandError, TimeoutError):
                await asyncio.sleep(_LOOK)  # the server is away, or the run is not there yet

    async def _say_word(self, id: str) -> None:
        """What its last team waits for, said before the run has a plan."""
        handle = self.client.get_workflow_handle(id)
        while True:
            try:
                await handle.signal("word", id, rpc_timeout=timedelta(seconds=10))
                return
            except RPCError as error:
                if error.status == RPCStatusCode.NOT_FOUND:
                    return  # it came already, and the run has ended
                await asyncio.sleep(_LOOK)

    async def _start_all(self, ids: Sequence[str]) -> None:
        for id in ids:
            while len(self._open) >= self.terms.open_at_once:  # noqa: ASYNC110  # others end them
                await asyncio.sleep(_LOOK)
            await self._start(id)

    async def _kill(self) -> None:
        for number in range(1, self.terms.kills + 1):
            await asyncio.sleep(self.ground.chance.uniform(*self.terms.gap))
            kill = await self.ground.kill_one()
            self._killed = time.monotonic()
            left = len(self._open)
            self.tell(f"kill {number} of {self.terms.kills}: {kill.target}; {left} runs are open")

    async def _until_all_ended(
        self, began: float, starting: "asyncio.Task[None] | None" = None
    ) -> None:
        while self._open or (starting is not None and not starting.done()):
            if time.monotonic() - began > self.terms.limit:
                late = f"not ended after {self.terms.limit:g} s in all"
                self.wedged |= dict.fromkeys(self._open, late)
                return
            self.ground.look()
            await self.people.round(list(self._open.values()))
            await self._see_who_ended()
            await asyncio.sleep(_LOOK)

    async def _see_who_ended(self) -> None:
        try:
            still = {one.id async for one in open_executions(self.client)}
        except CommandError:
            return  # the server is away
        for id in [id for id in self._open if id not in still]:
            if await self._has_ended(id):  # the list lags behind
                del self._open[id]
        for id in list(self._open):
            await self._see_it_move(id)

    async def _has_ended(self, id: str) -> bool:
        try:
            described = await self._open[id].describe()
        except CommandError:
            return False
        return described.close_time is not None

    async def _see_it_move(self, id: str) -> None:
        now = time.monotonic()
        seen = self._moved.setdefault(id, Progress(0, now, now))
        if now - seen.looked < self.terms.patience / 8:
            return
        try:
            events = (await self._open[id].describe()).history_length
        except CommandError:
            return
        seen.looked = now
        if events != seen.events:
            seen.events, seen.since = events, now
        elif now - max(
            seen.since, self._killed
        ) > self.terms.patience and not await self._waits_for_a_person(id):
            self.wedged[id] = f"{events} events, and none more for {self.terms.patience:g} s"
            del self._open[id]

    async def _waits_for_a_person(self, id: str) -> bool:
        """It is not its own fault that it does not move; a wedged run does not even answer."""
        try:
            return bool(await self._open[id].pending())
        except CommandError:
            return False
