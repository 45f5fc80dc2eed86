"""What travels has at most so many bytes of JSON, to the last one."""

import pytest

from coterie.dsl.errors import ValueTooLarge
from coterie.dsl.sizes import check_size, exceeds, json_size, too_large
from coterie.dsl.values import JsonValue


@pytest.mark.parametrize(
    ("value", "size"),
    [
        ("a" * 58, 60),
        ("a" * 59, 61),
        ("\0" * 9, 56),
        ("\0" * 10, 62),
        (["a" * 56], 60),
        (["a" * 57], 61),
        ({"k": "a" * 53}, 61),
    ],
)
def test_a_value_is_refused_above_the_maximum_and_not_at_it(value: JsonValue, size: int) -> None:
    assert json_size(value) == size
    refusal = f"it has {size} bytes, and 60 are allowed"
    assert too_large(value, "it", 60) == (refusal if size > 60 else None)


@pytest.mark.parametrize(
    ("value", "size"), [(None, 8), (0, 8), (2.5, 8), (True, 8), ([None], 6), ("\ud800", 0)]
)
def test_a_plain_value_counts_eight_bytes_and_what_is_no_json_none(
    value: JsonValue, size: int
) -> None:
    assert json_size(value) == size
    assert too_large(value, "it") is None


def test_a_value_above_the_maximum_may_not_travel() -> None:
    check_size("a" * 58, "it", 60)
    with pytest.raises(ValueTooLarge, match=r"^it has 1,002 bytes, and 60 are allowed$"):
        check_size("a" * 1000, "it", 60)


CERTAIN: list[tuple[list[JsonValue], int]] = [
    ([], 0),
    ([1, None], 2),
    (["abc", "d"], 6),
    ([[]], 1),
    ([["a", "b"]], 7),
    ([{"ab": "c"}], 8),
    ([{"a": 1, "b": 2}], 11),
    ([{"a": {"b": "c"}}], 12),
    ([[[1, 2], [3]]], 11),
]
"""Values, and the bytes that they have at least."""


@pytest.mark.parametrize(("values", "size"), CERTAIN)
def test_values_exceed_what_they_certainly_have(values: list[JsonValue], size: int) -> None:
    assert size <= sum(map(json_size, values))
    assert not exceeds(values, size)
    assert not size or exceeds(values, size - 1)


@pytest.mark.parametrize("value", [["abcdefgh"], {"ab": "abcdefgh"}])
def test_the_parts_of_a_value_whose_outside_fits_exactly_are_counted_too(value: JsonValue) -> None:
    outside = 3 if isinstance(value, list) else 7
    assert exceeds([value], outside)
