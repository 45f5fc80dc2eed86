"""Drive one run from start to end: decisions and signals on time, crashes, time itself."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from temporalio.service import RPCError, RPCStatusCode

from coterie.failures import CommandError
from coterie.runs.call_errors import Unanswered
from coterie.runs.run_client import Run
from coterie.testing.simulation.clock import Broken, Clock, Overshot, Sight
from coterie.testing.simulation.crashes import Crash
from coterie.testing.simulation.gate import Gate
from coterie.testing.simulation.scheduled_events import Scene, ScheduledEvent, Watched
from coterie.testing.simulation.simulated_signer import SimulatedSigner
from coterie.testing.simulation.stage import Stage

_SOONEST, _LATEST = 0.02, 0.05
"""Seconds without a call before a busy run is checked again, growing with time."""


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
                await self.stage.pulse.still(pause)
                pause = min(pause * 1.3, _LATEST)
                continue
            pause = _SOONEST
            watched: list[Watched] = [
                watches for event in self.events if (watches := event.watches)
            ]
            scene = await self._scene(self.began, watched)
            if watched or self.stage.gate is not None:
                before, sight = sight, await self.clock.look()
                if replace(sight, now=before.now) != before:
                    continue  # the run continued meanwhile, so the scene may be outdated
            moments = [(event.due(scene), event) for event in self.events]
            due = [(moment, event) for moment, event in moments if moment is not None]
            now = [pair for pair in due if pair[0] <= sight.now]
            ahead = [moment for moment, _ in due] + ([sight.wake] if sight.wake else [])
            if now:
                _, event = min(now, key=lambda pair: (not pair[1].quiet, pair[0]))
                if self.stage.takes_signed_decisions:
                    self.run.signer = SimulatedSigner(sight.now)
                await event.happen(self.run, scene)
                continue
            if not ahead:
                scene = await self._scene(self.began, {"requests", "steps"})
                self.troubles.append(self._describe_standstill(scene))
                return
            await self.clock.skip_to(min(ahead), sight)

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
        doing = [item.step for item in (await self.run.status()).doing]
        crash = next((crash for crash in self.crashes if crash.is_due(trail, doing)), None)
        if crash is None:
            return False
        self.crashes.remove(crash)
        await self.stage.close()
        self.stage.open(Gate() if self.crashes else None)
        return True

    async def _scene(self, began: datetime, watched: Collection[Watched]) -> Scene:
        """Ask the run for what is watched, and for nothing else."""
        doing = (await self.run.status()).doing if "steps" in watched else ()
        return Scene(
            began=began,
            pending=await self.run.pending() if "requests" in watched else (),
            doing={item.step: datetime.fromisoformat(item.since) for item in doing},
        )

    def _describe_standstill(self, scene: Scene) -> str:
        waits = ", ".join(request.id for request in scene.pending)
        if waits:
            return f"the run waits forever: no remaining decision of this case matches {waits}"
        doing = ", ".join(scene.doing) or "nothing"
        return f"the run waits forever, in {doing}: no signal of this case resumes it"
