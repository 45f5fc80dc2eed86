"""Follow a task: its state and its outputs as they come, until nothing follows by itself."""

import asyncio
import time
from collections.abc import AsyncGenerator
from dataclasses import dataclass

from coterie.gateway.doors.a2a.task_views import TaskView, TaskViews
from coterie.gateway.identity.identity import Identity
from coterie.gateway.operations.run_access import FoundRun, RunAccess
from coterie.gateway.streams.stream_hub import StreamHub
from coterie.runs.live_texts import LiveAnswer

MAX_SECONDS = 900.0
"""Of one stream; then the client subscribes again, and its permission is judged again."""
MAX_WAIT_SECONDS = 300.0
"""For which a client waits for a whole answer."""
_CANCEL_SECONDS = 30.0
"""For which a client waits until the run that it cancels has cleaned up."""
_SETTLING_SECONDS = 0.1
"""After news: several events of a run come at once, and its worker is asked once."""
_LOOK_SECONDS = 20.0
"""A state may change without an event of the history: a worker starts, or stops."""


@dataclass(frozen=True, slots=True)
class LiveTexts:
    """Texts of outputs that models are writing."""

    answers: tuple[LiveAnswer, ...]


class TaskFollower:
    """Looks at tasks whenever their runs have moved."""

    def __init__(self, access: RunAccess, hub: StreamHub, views: TaskViews) -> None:
        """Take the runs, what follows them, and what reads tasks."""
        self._access = access
        self._hub = hub
        self._views = views

    async def changes(
        self, found: FoundRun, identity: Identity, seconds: float = MAX_SECONDS
    ) -> AsyncGenerator[TaskView | LiveTexts]:
        """Yield a task as it is, then after each change; end when nothing follows by itself.

        Between two views come the texts that models write.

        Raises:
            CommandError: The run was deleted, or the server does not answer.
        """
        until = time.monotonic() + seconds
        wake = asyncio.Event()
        async with self._hub.following(found.run.id, wake) as follower:
            while True:
                wake.clear()
                seen, look = follower.window.end, time.monotonic() + _LOOK_SECONDS
                view = await self._views.view(found)
                yield view
                if view.stops:
                    return
                texts = await self._views.text_steps(found.run.id)
                while seen == follower.window.end and time.monotonic() < look:
                    if not await self._wait(wake, until, identity):
                        return
                    wake.clear()
                    yield LiveTexts(tuple(it for it in follower.answers if it.step in texts))
                await asyncio.sleep(_SETTLING_SECONDS)
                found = await self._access.existing(found.run.id)

    async def settled(self, found: FoundRun, identity: Identity) -> TaskView:
        """Return a task when nothing follows by itself, or after some minutes."""
        changes = self.changes(found, identity, MAX_WAIT_SECONDS)
        return [one async for one in changes if isinstance(one, TaskView)][-1]

    async def ended(self, found: FoundRun, identity: Identity) -> TaskView:
        """Return a task that was cancelled, when it has ended, or after some seconds."""
        until = time.monotonic() + _CANCEL_SECONDS
        wake = asyncio.Event()
        async with self._hub.following(found.run.id, wake):
            while True:
                wake.clear()
                view = await self._views.view(found)
                if view.is_over or not await self._wait(wake, until, identity):
                    return view

    async def _wait(self, wake: asyncio.Event, until: float, identity: Identity) -> bool:
        """Wait for news, or for some time; return whether the client may still look."""
        left = until - time.monotonic()
        if identity.expires is not None:
            left = min(left, identity.expires - time.time())
        if left <= 0 or self._hub.closing.is_set():
            return False
        try:
            async with asyncio.timeout(min(left, _LOOK_SECONDS)):
                await wake.wait()
        except TimeoutError:
            pass
        return not self._hub.closing.is_set()
