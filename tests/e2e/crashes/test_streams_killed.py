"""Event streams under fire: `make chaos ARGS="--only stream"` is the large version."""

from pathlib import Path

import pytest

from tests.chaos.stream_runs.stream_play import StreamTerms, play_streams


@pytest.mark.timeout(240)
async def test_clients_get_each_event_once_when_everything_is_killed(tmp_path: Path) -> None:
    shown: list[str] = []
    terms = StreamTerms(strikes=6, sessions=1, gap=(0.5, 2.0), limit=200, needs_text=False)
    report = await play_streams(tmp_path / "project", 5, terms, shown.append)
    assert report.wrong == [], "\n".join([*shown, *report.lines])
