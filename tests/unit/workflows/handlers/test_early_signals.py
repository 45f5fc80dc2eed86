"""Signals before a run begins: so many wait, and the trail names those that were dropped."""

import pytest

from coterie.workflows.core.causes.message_causes import SignalsDropped
from coterie.workflows.handlers.early_signals import (
    MAX_EARLY_BYTES,
    MAX_EARLY_SIGNALS,
    EarlySignals,
)


def dropped(queue: EarlySignals) -> dict[str, int]:
    return {one.name: one.dropped for one in queue.overflow()}


def test_exactly_the_most_signals_wait() -> None:
    queue = EarlySignals()
    assert all(queue.admit("go", 1) for _ in range(MAX_EARLY_SIGNALS))
    assert queue.overflow() == []
    assert not queue.admit("go", 1)
    assert not queue.admit("go", 1)
    assert queue.overflow() == [
        SignalsDropped(
            "signals_dropped",
            "go",
            dropped=2,
            waiting=MAX_EARLY_SIGNALS,
            waiting_bytes=MAX_EARLY_SIGNALS,
            max_waiting=MAX_EARLY_SIGNALS,
            max_bytes=MAX_EARLY_BYTES,
        )
    ]


@pytest.mark.parametrize(
    ("sizes", "admitted"),
    [
        ([MAX_EARLY_BYTES], [True]),
        ([MAX_EARLY_BYTES + 1], [False]),
        ([1, MAX_EARLY_BYTES - 1, 1], [True, True, False]),
        ([1, MAX_EARLY_BYTES, 1], [True, False, True]),
    ],
)
def test_signals_wait_up_to_exactly_the_most_bytes(sizes: list[int], admitted: list[bool]) -> None:
    queue = EarlySignals()
    assert [queue.admit("go", size) for size in sizes] == admitted


def test_twenty_names_of_dropped_signals_are_kept_separately() -> None:
    queue = EarlySignals(count=MAX_EARLY_SIGNALS)
    for number in range(22):
        queue.admit(f"s{number}", 1)
    queue.admit("s0", 1)
    assert dropped(queue) == {"s0": 2, **{f"s{n}": 1 for n in range(1, 20)}, "others": 2}
