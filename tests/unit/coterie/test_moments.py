"""Moments are shown in local time, with their zone."""

import time
from collections.abc import Iterator

import pytest

from coterie.text.moments import clock, day_and_clock


@pytest.fixture(params=[("UTC", "Z", 18), ("Europe/Berlin", "+01:00", 19)])
def zone(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    name, suffix, hour = request.param
    monkeypatch.setenv("TZ", name)
    time.tzset()
    yield f"{hour}:56:12{suffix}"
    monkeypatch.undo()
    time.tzset()


def test_a_moment_is_shown_with_its_zone(zone: str) -> None:
    assert clock("2026-12-01T18:56:12.345+00:00") == zone
    assert day_and_clock("2026-12-01T18:56:12.345+00:00") == f"2026-12-01 {zone}"
