"""What travels has at most so many bytes of JSON, to the last one."""

import pytest

from dsl.sizes import json_size, too_large
from dsl.values import JsonValue


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
