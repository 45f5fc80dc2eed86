"""Payments under fire: `make chaos ARGS="--only effects"` is the large version."""

from pathlib import Path

import pytest

from tests.chaos.effect_runs.bank import IN_TOOLS
from tests.chaos.effect_runs.effect_play import EffectTerms, play_effects


@pytest.mark.timeout(240)
async def test_the_ledgers_of_interrupted_payments_agree_with_the_bank(tmp_path: Path) -> None:
    shown: list[str] = []
    terms = EffectTerms(rounds=1, in_flight=6, limit=200, points=IN_TOOLS)
    report = await play_effects(tmp_path / "project", 1142, terms, shown.append)
    assert report.wrong == [], "\n".join([*shown, *report.lines])
