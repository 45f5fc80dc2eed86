"""The fairness key of a call in a queue of its own."""

from hashlib import sha256

import pytest

from coterie.activities.contracts import OwnQueue
from coterie.dsl.values import Json
from coterie.workflows.temporal.call_failures import fairness_key

CONTEXT: Json = {"customer": {"id": 7, "vip": True, "name": "Ann"}, "tags": ["a"], "none": None}


@pytest.mark.parametrize(
    ("fair_by", "key"),
    [
        ("run", "my-run"),
        ("customer.name", "customer.name=Ann"),
        ("customer.id", "customer.id=7"),
        ("customer.vip", "my-run"),
        ("customer", "my-run"),
        ("tags", "my-run"),
        ("none", "my-run"),
        ("missing.path", "my-run"),
    ],
)
def test_calls_take_turns_by_run_or_by_a_text_or_number_of_the_context(
    fair_by: str, key: str
) -> None:
    assert fairness_key(OwnQueue(name="q", fair_by=fair_by), "my-run", CONTEXT) == key


@pytest.mark.parametrize(
    ("run", "is_short"), [("r" * 64, True), ("r" * 65, False), ("ö" * 32, True), ("ö" * 33, False)]
)
def test_a_key_of_more_than_sixty_four_bytes_is_replaced_by_its_digest(
    run: str, is_short: bool
) -> None:
    found = fairness_key(OwnQueue(name="q"), run, {})
    assert found == (run if is_short else sha256(run.encode()).hexdigest())
