"""The play of interrupted payments is made by the seed, and its bookkeeper finds what is wrong."""

from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime

import pytest

from coterie.runs.effects_ledger import Certainty, LedgerEffect
from tests.chaos.effect_runs.bank import POINTS
from tests.chaos.effect_runs.effect_plan import TEAMS, EffectRun, Kind, effect_runs
from tests.chaos.effect_runs.effect_reckoning import SeenRun, check_run

AT = datetime(2026, 11, 29, tzinfo=UTC)


def test_each_kind_of_run_is_interrupted_at_each_point_about_equally_often() -> None:
    runs = effect_runs(3, 1_000)
    assert runs == effect_runs(3, 1_000) != effect_runs(4, 1_000)
    pairs = Counter((run.kind, run.points[0]) for run in runs)
    assert len(pairs) == len(TEAMS) * len(POINTS)
    assert set(pairs.values()) == {20, 21}
    assert len({run.order for run in runs}) == len(runs)


def row(certainty: Certainty, key: str) -> LedgerEffect:
    return LedgerEffect(
        "1", AT, AT, "pay/pay", 1, "pay#1/pay", "pay", "once", certainty, "", None, key
    )


Rows = Sequence[tuple[Certainty, str]]


@pytest.mark.parametrize(
    ("kind", "rows", "answers", "counted", "effects", "completed", "wrong"),
    [
        ("keyed", [("done", "k1")], (), {"k1"}, 1, True, []),
        ("verified", [("verified", "k1"), ("done", "k2")], [False], {"k2"}, 1, True, []),
        ("verified", [("verified", "k1")], [True], {"k1"}, 1, True, []),
        ("careless", [("unknown", "k1")], (), {"k1"}, 1, False, []),
        ("careless", [("unknown", "k1")], (), (), 0, False, []),
        ("keyed", [("done", "k1")], (), (), 1, True, ["done, and the bank lacks it"]),
        (
            "refused",
            [("not done", "k1"), ("done", "k2")],
            (),
            {"k1", "k2"},
            2,
            True,
            ["not done, and the bank has it", "it was paid 2 times"],
        ),
        (
            "verified",
            [("verified", "k1"), ("done", "k2")],
            [False],
            {"k1", "k2"},
            2,
            True,
            ["it was paid 2 times", "of [True], the answers were [False]"],
        ),
        ("asked", [("verified", "k1")], [True], {"k1"}, 1, True, ["its ledger has verified"]),
        ("verified", [("unknown", "k1")], (), {"k1"}, 1, True, ["its ledger has unknown"]),
        ("keyed", [("done", "k1")], (), {"k1"}, 1, False, ["it has not completed"]),
        ("careless", [("done", "k1")], (), {"k1"}, 1, False, ["its ledger says ['done']"]),
        (
            "giving up",
            [("in progress", "k1")],
            (),
            (),
            0,
            False,
            ["in progress, and the bank lacks it", "its ledger says ['in progress']"],
        ),
    ],
)
def test_a_ledger_that_does_not_agree_with_the_bank_is_reported(
    kind: Kind,
    rows: Rows,
    answers: Sequence[bool],
    counted: set[str],
    effects: int,
    completed: bool,
    wrong: list[str],
) -> None:
    run = EffectRun("p1", kind, ("before",))
    seen = SeenRun(run, [row(*one) for one in rows], answers, completed)
    found = check_run(seen, counted, effects)
    assert found == [f"p1 ({kind}, before): {one}" for one in wrong]
