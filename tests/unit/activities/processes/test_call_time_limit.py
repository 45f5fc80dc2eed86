"""How long a call of users' code waits for a process, and how long it may take then."""

import asyncio

import pytest

from coterie.activities.user_code.child_pool import CallTimeLimit


@pytest.mark.parametrize(
    ("seconds", "patient", "wait"),
    [(600.0, True, 300.0), (20.0, True, 30.0), (600.0, False, 30.0), (None, True, 30.0)],
)
async def test_a_tool_waits_for_a_free_process_up_to_half_of_its_time(
    seconds: float | None, patient: bool, wait: float
) -> None:
    assert CallTimeLimit(30.0, seconds, patient=patient).wait == wait


@pytest.mark.parametrize(
    ("waited", "started", "own"),
    [(0.0, 0.0, 600.0), (10.0, 19.0, 600.0), (299.0, 5.0, 325.0), (299.0, 29.0, 301.0)],
)
async def test_a_call_that_has_waited_ends_within_the_time_of_its_activity(
    monkeypatch: pytest.MonkeyPatch, waited: float, started: float, own: float
) -> None:
    loop = asyncio.get_running_loop()
    now = loop.time()
    limit = CallTimeLimit(30.0, 600.0, patient=True)
    async with limit.timeout:
        with monkeypatch.context() as later:
            later.setattr(loop, "time", lambda: now + waited)
            limit.start()
            assert limit.timeout.when() == now + waited + 30
            later.setattr(loop, "time", lambda: now + waited + started)
            limit.begin()
        assert limit.own == pytest.approx(own, abs=1)
        assert limit.timeout.when() == pytest.approx(now + waited + started + limit.own)
    assert own >= 300, "half of its time remains, whatever it waits for"
