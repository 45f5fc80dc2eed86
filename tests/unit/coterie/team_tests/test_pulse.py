"""The driver of a case asks the server once the calls of the worker have been still for a while."""

from typing import Any

import pytest
from temporalio.worker import ActivityInboundInterceptor, ExecuteActivityInput

from coterie.testing.simulation import stage as module
from coterie.testing.simulation.stage import Pulse


class Seconds:
    """A clock that only sleep moves; calls begin or end after some seconds of it."""

    def __init__(self, patch: pytest.MonkeyPatch, pulse: Pulse, *beats: float) -> None:
        self.now = 100.0
        self._pulse = pulse
        self._beats = [self.now + beat for beat in beats]
        patch.setattr(module, "monotonic", lambda: self.now)
        patch.setattr(module.asyncio, "sleep", self._sleep)

    async def _sleep(self, seconds: float) -> None:
        until = self.now + seconds
        for beat in [beat for beat in self._beats if beat <= until]:
            self.now = beat
            self._beats.remove(beat)
            self._pulse.beat()
        self.now = until


@pytest.mark.parametrize(
    ("beats", "waited"), [((), 8), ((2,), 10), ((2, 9), 17), ((2, 11), 10), ((8,), 16)]
)
async def test_a_pulse_is_still_once_no_call_came_or_went_for_so_long(
    monkeypatch: pytest.MonkeyPatch, beats: tuple[float, ...], waited: float
) -> None:
    pulse = Pulse()
    seconds = Seconds(monkeypatch, pulse, *beats)
    await pulse.still(8)
    assert seconds.now == 100 + waited


class Call(ActivityInboundInterceptor):
    """A call that takes some seconds and fails."""

    def __init__(self, seconds: Seconds) -> None:
        self._seconds = seconds

    async def execute_activity(self, input: ExecuteActivityInput) -> Any:
        self._seconds.now += 5
        raise ValueError("no answer")


async def test_a_call_is_noted_when_it_begins_and_when_it_fails(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pulse = Pulse()
    seconds = Seconds(monkeypatch, pulse)
    noted: list[float] = []
    monkeypatch.setattr(pulse, "beat", lambda: noted.append(seconds.now))
    call = pulse.intercept_activity(Call(seconds))
    with pytest.raises(ValueError, match="no answer"):
        await call.execute_activity(ExecuteActivityInput(print, (), None, {}))
    assert noted == [100, 105]
