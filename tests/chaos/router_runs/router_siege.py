"""Sessions of the team `tool_router` go on while what serves them is killed at the planned gaps."""

import asyncio
import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from pydantic import JsonValue
from temporalio.client import Client

from coterie.failures import CommandError
from coterie.runs.ends.end_facts import RunEnd
from coterie.runs.new_runs import start_run
from coterie.runs.run_client import Run
from coterie.runs.sessions import MessageRefusedError, send_message
from coterie.workflows.core.messages import DecideInput, SessionInput, TeamInput
from coterie.workflows.core.requests import Pending
from tests.chaos.ground import Ground
from tests.chaos.moments import noted, until
from tests.chaos.router_runs.router_plan import MESSAGES, UNDISTURBED, Gap, RouterPlan, RouterStrike

TEAM = "tool_router"
_AGAIN = 0.2
_DECIDE = "router/decide"
_CALLS_OF_A_TURN = 2


@dataclass(frozen=True, slots=True)
class Struck:
    """A kill that took place."""

    session: str
    strike: RouterStrike
    at: float
    """Unix time."""


@dataclass
class Talk:
    """One session, and what it replied."""

    run: Run
    replies: list[JsonValue] = field(default_factory=list[JsonValue])
    end: RunEnd | None = None


@dataclass
class RouterSiege:
    """One go: the undisturbed session, then each of the others under fire."""

    ground: Ground
    client: Client
    plan: RouterPlan
    tell: Callable[[str], None]
    patience: float = 120.0
    """Seconds for each thing that is waited for."""
    talks: dict[str, Talk] = field(default_factory=dict[str, Talk])
    struck: list[Struck] = field(default_factory=list[Struck])

    async def lay(self) -> None:
        """Play all sessions, one after another, so that a kill meets one at a known moment."""
        for session, strikes in {UNDISTURBED: (), **self.plan.sessions}.items():
            began = time.monotonic()
            await self._talk(session, strikes)
            self.tell(f"{session}: {len(strikes)} kills, {time.monotonic() - began:.0f} s")

    async def _talk(self, session: str, strikes: Sequence[RouterStrike]) -> None:
        given = TeamInput(team=TEAM, context={"scope": "tides and harbours"})
        run = await start_run(self.client, session, given, task_queue="coterie", summary=session)
        talk = self.talks[session] = Talk(run)
        for turn, message in enumerate(MESSAGES, 1):
            due = {one.gap.where: one for one in strikes if one.gap.turn == turn}
            sending = asyncio.create_task(self._send(run, message, f"{session}-{turn}"))
            try:
                if strike := due.get("between two calls"):
                    await self._between_calls(session, turn, sending)
                    await self._strike(session, strike)
                if turn == len(MESSAGES):  # it searches the web, which a person allows
                    await self._wait_for_request(run, sending)
                    if strike := due.get("while a person is asked"):
                        await self._strike(session, strike)
                    await self._allow(run)
                talk.replies.append(await asyncio.wait_for(sending, self.patience))
            finally:
                sending.cancel()
            if strike := due.get("between two turns"):
                await self._strike(session, strike)
        talk.end = await self._cancel_session(run)

    async def _strike(self, session: str, strike: RouterStrike) -> None:
        await asyncio.sleep(strike.delay)
        self.ground.look()
        kill = await self.ground.strike(strike.victim, random.Random(strike.delay))
        self.struck.append(Struck(session, strike, kill.at))
        self.tell(f"kill {len(self.struck)}: {strike}")

    async def _send(self, run: Run, message: str, id: str) -> JsonValue:
        """Send a message until its reply has come: with its id, it is the same message."""
        while True:
            try:
                return await send_message(run, SessionInput(message=message, by="ann"), id)
            except MessageRefusedError:
                raise
            except CommandError:
                await asyncio.sleep(_AGAIN)  # the server is away

    async def _between_calls(
        self, session: str, turn: int, sending: "asyncio.Task[JsonValue]"
    ) -> None:
        """Wait until the router is asked what to do after the first call of a turn."""
        history = await self._history(session)
        label = f"{_DECIDE}#{(turn - 1) * (_CALLS_OF_A_TURN + 1) + 2}.0"

        async def asked() -> bool:
            if sending.done():
                raise RuntimeError(f"{session} replied without a second call: {sending.result()}")
            lines = noted(self.ground.shop.folder / "calls.jsonl")
            return any(line.label == label and line.run == history for line in lines)

        await until(asked, f"{session}: {label}", self.patience)

    async def _history(self, session: str) -> str:
        """The id of the one history that a session has: it is too short to continue as new."""
        return (await self.talks[session].run.describe()).run_id

    async def _pending(self, run: Run) -> tuple[Pending, ...]:
        try:
            return await run.pending()
        except CommandError:
            return ()  # its worker is dead, or its server

    async def _wait_for_request(self, run: Run, sending: "asyncio.Task[JsonValue]") -> None:
        async def asked() -> bool:
            if sending.done():
                raise RuntimeError(f"{run.id} replied without a search: {sending.result()}")
            return bool(await self._pending(run))

        await until(asked, f"the request of {run.id}", self.patience)

    async def _allow(self, run: Run) -> None:
        """Approve what waits, until it is taken."""

        async def allowed() -> bool:
            for one in await self._pending(run):
                try:
                    await run.decide(DecideInput(id=one.id, decision="approve", by="ann"))
                except CommandError:
                    return False  # its worker is dead, or its server
                return True
            return False

        await until(allowed, f"the decision for {run.id}", self.patience)

    async def _cancel_session(self, run: Run) -> RunEnd:
        """Cancel the session, which else waits a day for a message; return what it came to."""

        async def cancelled() -> bool:
            try:
                await run.cancel("all messages are answered")
            except CommandError:
                return False
            return True

        await until(cancelled, f"the end of {run.id}", self.patience)
        return await asyncio.wait_for(run.end(), self.patience)


def where_struck(struck: Sequence[Struck], gap: Gap) -> list[float]:
    """Return when something was killed at a gap."""
    return [one.at for one in struck if one.strike.gap == gap]
