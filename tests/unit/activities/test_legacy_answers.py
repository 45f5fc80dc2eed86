"""Python values of somebody's code as JSON: what there is arrives, what is none is named."""

from collections import OrderedDict
from datetime import date
from enum import StrEnum
from typing import Any

import pytest

from coterie.activities.user_code.plain_values import NotJson, as_json


class Colour(StrEnum):
    RED = "red"


def test_mappings_lists_and_tuples_arrive_as_json_and_share_nothing() -> None:
    given: dict[str, Any] = {"a": (1, 2.5, None), "b": OrderedDict(c=[True, "é"])}
    result = as_json(given, "data")
    assert result == {"a": [1, 2.5, None], "b": {"c": [True, "é"]}}
    given["b"]["c"] = []
    assert result["b"] == {"c": [True, "é"]}  # type: ignore[index,call-overload]


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (date(2025, 4, 29), "data is a date"),
        ({"a": [0, {1, 2}]}, "data.a[1] is a set"),
        ({"a": {1: "x"}}, "data.a has the key 1, which is a int"),
        ({"a": b"x"}, "data.a is a bytes"),
        ([float("nan")], "data[0] is nan"),
        ([Colour.RED], "data[0] is a Colour"),
        ({"a": "\ud800"}, "data.a contains half of a surrogate pair"),
        ({"\ud800": 1}, "data contains half of a surrogate pair"),
    ],
)
def test_value_that_json_does_not_have_is_named_with_its_path(value: object, message: str) -> None:
    with pytest.raises(NotJson) as caught:
        as_json(value, "data")
    assert str(caught.value).startswith(message)


def test_a_value_that_holds_itself_is_refused() -> None:
    value: dict[str, Any] = {}
    value["again"] = value
    with pytest.raises(NotJson, match="nested deeper than 100 levels"):
        as_json(value, "data")
