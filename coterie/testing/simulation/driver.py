"""Drive one run from start to end: decisions and signals on time, crashes, time itself."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

from temporalio.service import RPCError, RPCStatusCode

from coterie.failures import CommandError
from coterie.runs.call_errors import Unanswered
from coterie.runs.run_client import Run
from coterie.testing.simulation.clock import Broken, Clock, Overshot, Sight
from coterie.testing.simulation.crashes import Crash
from coterie.testing.simulation.gate import Gate
from coterie.testing.simulation.scheduled_events import Scene, ScheduledEvent
from coterie.testing.simulation.stage import Stage

_SOONEST, _LATEST = 0.003, 0.05
"""Seconds between two checks of a busy run, growing with time."""


@dataclass
class Driver:
    """Drives the run of a case."""

    run: Run
    stage: Stage
    clock: Clock
    events: Sequence[ScheduledEvent]
    crashes: list[Crash]
    """Remaining worker crashes."""
    troubles: list[str] = field(default_factory=list[str])
    """Deviations from the file, for people."""
    began: datetime | None = None

    async def drive(self) -> None:
        """Drive until the run ends, or nothing can resume it.

        Raises:
            Overshot: The run's clock was skipped too far, so its outcome is meaningless.
            RPCError: A call to the server failed, or was lost.
            Unanswered: A call to the run was lost.
        """
        try:
            await self._drive()
        except (Overshot, Unanswered):
            raise
        except (Broken, CommandError) as error:
            self.troubles.append(str(error))
        except RPCError as error:
            if error.status is not RPCStatusCode.INVALID_ARGUMENT:
                raise
            self.troubles.append(f"the test server cannot run this case: {error.message}")

    async def _drive(self) -> None:
        pause = _SOONEST
        while not (sight := await self.clock.look()).ended:
            self.began = self.began or sight.now
            if sight.busy or not await self._at_the_gate(sight):
                await asyncio.sleep(pause)  # between two checks
                pause = min(pause * 1.3, _LATEST)
                continue
            pause = _SOONEST
            scene = await self._scene(self.began)
            if (await self.clock.look()).events != sight.events:
                continue  # the run continued meanwhile, so the scene may be outdated
            moments = [(event.due(scene), event) for event in self.events]
            due = [(moment, event) for moment, event in moments if moment is not None]
            now = [one for one in due if one[0] <= sight.now]
            if now:
                _, event = min(now, key=lambda one: (not one[1].quiet, one[0]))
                await event.happen(self.run, scene)
                continue
            if not due and sight.wake is None:
                self.troubles.append(self._describe_standstill(scene))
                return
            ahead = [moment for moment, _ in due] + ([sight.wake] if sight.wake else [])
            await self.clock.skip_to(min(ahead))

    async def _at_the_gate(self, sight: Sight) -> bool:
        """Handle waiting calls; return whether nothing is left to handle."""
        gate = self.stage.gate
        if gate is None:
            return not sight.held
        if not gate.shut:
            return False
        if await self._crash_if_due():
            return False
        if sight.held:
            gate.let_one_through()
            return False
        return True

    async def _crash_if_due(self) -> bool:
        """Kill the worker if it is time; a new one without its cache continues."""
        trail = await self.run.trail()
        doing = [one.step for one in (await self.run.status()).doing]
        crash = next((crash for crash in self.crashes if crash.is_due(trail, doing)), None)
        if crash is None:
            return False
        self.crashes.remove(crash)
        await self.stage.close()
        self.stage.open(Gate() if self.crashes else None)
        return True

    async def _scene(self, began: datetime) -> Scene:
        status = await self.run.status()
        return Scene(
            began=began,
            pending=await self.run.pending(),
            doing={one.step: datetime.fromisoformat(one.since) for one in status.doing},
        )

    def _describe_standstill(self, scene: Scene) -> str:
        waits = ", ".join(request.id for request in scene.pending)
        if waits:
            return f"the run waits forever: no remaining decision of this case matches {waits}"
        doing = ", ".join(scene.doing) or "nothing"
        return f"the run waits forever, in {doing}: no signal of this case resumes it"
