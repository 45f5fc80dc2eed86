"""300 real changes, each damaged in 27 ways: the meant file, or a refusal, never another file."""

import pytest

from tests.support.changes.damaged_diffs import DAMAGES
from tests.support.changes.patch_comparison import counted
from tests.support.changes.real_changes import COUNT, RealChange, real_changes
from tests.support.changes.twin_diffs import TWINS

NEVER = {
    "removed_line_drifted",
    "place_gone_and_twin_left",
    "twin_left_on_the_other_side_of_a_hunk",
    "number_of_a_twin_and_wrong_counts",
    "place_changed_and_twin_left",
}
"""Whatever is applied is wrong."""

SELDOM = {"result_elsewhere_and_place_drifted": 0.0, "no_context_and_no_numbers": 0.35}
DRIFTED = {
    "outermost_context_drifted": 0.95,
    "nearest_context_drifted": 0.9,
    "context_drifted_without_numbers": 0.7,
    "signed_context_without_space": 0.8,
    "one_hunk_present_already": 0.95,
}
"""How many of a kind are applied at least; of every other kind all are."""


@pytest.fixture(scope="module")
def changes() -> list[RealChange]:
    return real_changes()


def test_corpus_holds_300_real_changes_and_23_kinds_of_dirt(changes: list[RealChange]) -> None:
    assert len({change.name for change in changes}) == COUNT == 300
    assert len(DAMAGES.keys() - {"clean"}) >= 23
    assert all(change.before != change.after for change in changes)


@pytest.mark.parametrize("name", [*DAMAGES, *TWINS])
def test_damaged_diff_of_a_real_change_is_never_applied_wrongly(
    name: str, changes: list[RealChange]
) -> None:
    found = counted({**DAMAGES, **TWINS}[name], changes)
    assert found["wrong"] == 0
    total = found.total()
    assert total >= COUNT // 2
    least = 0.0 if name in NEVER else {**SELDOM, **DRIFTED}.get(name, 1.0)
    assert found["right"] >= least * total
