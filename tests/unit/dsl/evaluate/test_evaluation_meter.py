"""The meter of an evaluation: every amount up to the last step, and the same on every machine."""

import pytest

from coterie.dsl.errors import EvaluationLimitExceeded
from coterie.dsl.model.evaluation_budget import (
    MAX_INTEGER_BITS,
    EvaluationBudget,
    EvaluationMeter,
    EvaluationWork,
    Names,
    digits_steps,
    meter_of,
    text_bytes,
)
from coterie.dsl.model.outcomes import Outcome
from coterie.dsl.templates.jsonable import to_json
from coterie.dsl.values import JsonValue

SMALL = EvaluationBudget(steps=1000, bytes=5000)


def test_steps_and_bytes_are_taken_to_the_last_one() -> None:
    meter = EvaluationMeter(SMALL)
    meter.charge(400, 1000)
    assert (meter.steps_left, meter.bytes_left) == (600, 4000)
    with pytest.raises(EvaluationLimitExceeded, match=r"^it takes more than 1,000 steps$") as steps:
        meter.charge(601)
    with pytest.raises(EvaluationLimitExceeded, match=r"^it makes more than 5,000 bytes$") as made:
        meter.charge(1, 4001)
    assert (steps.value.bound, made.value.bound) == ("steps", "bytes")
    assert (meter.steps_left, meter.bytes_left) == (600, 4000)
    meter.charge(600, 4000)
    meter.charge(0)
    assert (meter.steps_left, meter.bytes_left) == (0, 0)


@pytest.mark.parametrize(("steps", "made"), [(-1, 0), (0, -1)])
def test_no_amount_widens_the_budget(steps: int, made: int) -> None:
    with pytest.raises(ValueError, match="negative"):
        EvaluationMeter().charge(steps, made)


@pytest.mark.parametrize("amount", [0.5, float("nan"), True])
def test_only_whole_numbers_are_charged(amount: float) -> None:
    with pytest.raises(TypeError, match="only whole numbers"):
        EvaluationMeter().charge(amount)  # pyright: ignore[reportArgumentType]
    with pytest.raises(TypeError, match="only whole numbers"):
        EvaluationMeter().charge(0, amount)  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize(("bits", "steps"), [(0, 1), (255, 1), (256, 2), (MAX_INTEGER_BITS, 57)])
def test_a_whole_number_costs_by_its_bits(bits: int, steps: int) -> None:
    meter = EvaluationMeter(SMALL)
    meter.charge_integer(bits)
    assert (1000 - meter.steps_left, meter.bytes_left) == (steps, 5000)


def test_a_number_that_python_would_not_write_is_not_made() -> None:
    with pytest.raises(EvaluationLimitExceeded, match="more than 14,400 bits") as found:
        EvaluationMeter().charge_integer(MAX_INTEGER_BITS + 1)
    assert found.value.bound == "integer"


@pytest.mark.parametrize(
    ("value", "returned", "charged"),
    [
        (None, 1, 0),
        (True, 1, 0),
        (7, 1, 0),
        (2.5, 1, 0),
        (object(), 1, 0),
        ("x" * 511, 1, 1),
        ("x" * 512, 2, 2),
        ([], 1, 0),
        ([1, "x"], 3, 2 + 1),
        ((1, [2]), 4, 3),
        ({"a": 1}, 3, 2 + 1),
        ({"a": {"b": "c"}}, 5, 4 + 3),
        (Outcome.succeeded([1, 2]), 5, 4 + 1),
    ],
)
def test_reading_a_value_costs_a_step_for_each_part(
    value: object, returned: int, charged: int
) -> None:
    meter = EvaluationMeter(SMALL)
    assert meter.walk(value) == returned
    assert (1000 - meter.steps_left, meter.bytes_left) == (charged, 5000)


def test_a_value_is_read_two_hundred_levels_deep() -> None:
    value: JsonValue = []
    for _ in range(200):
        value = [value]
    assert EvaluationMeter().walk(value) == 201
    with pytest.raises(EvaluationLimitExceeded, match="nested deeper than 200") as found:
        EvaluationMeter().walk([value])
    assert found.value.bound == "depth"


def test_the_work_of_several_evaluations_is_taken_once() -> None:
    work = EvaluationWork()
    first, second = work.meter(SMALL), work.meter(SMALL)
    first.charge(3, 1023)
    second.charge(5, 2048)
    assert (first.work(), second.work()) == (3, 7)
    assert work.take() == 10
    assert work.take() == 0


@pytest.mark.parametrize(("bits", "steps"), [(511, 0), (512, 1), (1023, 1), (1024, 4), (1536, 9)])
def test_writing_a_number_costs_the_square_of_its_length(bits: int, steps: int) -> None:
    assert digits_steps(2 ** (bits - 1)) == steps


def test_a_text_has_a_byte_for_a_letter_and_four_if_one_is_foreign() -> None:
    assert text_bytes("abc") == 3
    assert text_bytes("äbc") == 12


def test_names_carry_their_meter_and_other_mappings_get_a_new_one() -> None:
    meter = EvaluationMeter(SMALL)
    assert meter_of(Names({"a": 1}, meter)) is meter
    assert meter_of({"a": 1}).steps_left == 200_000


@pytest.mark.parametrize(
    ("value", "steps"),
    [([1, 2, 3], 4), ((1, 2, 3), 4), (iter([1, 2, 3]), 7), ({"a": 1}, 2), ({"a": [1, 2]}, 5)],
    ids=["list", "tuple", "iterator", "mapping", "nested"],
)
def test_a_copy_as_json_costs_its_parts_and_those_of_an_iterator_twice(
    value: object, steps: int
) -> None:
    meter = EvaluationMeter()
    before = meter.steps_left
    to_json(value, meter)
    assert before - meter.steps_left == steps
