"""What leaves a run is encoded, or named with the part that is too large."""

import pytest
from pydantic import BaseModel
from temporalio import workflow
from temporalio.common import RawValue

from coterie.dsl.errors import TeamError
from coterie.dsl.sizes import MAX_VALUE_SIZE
from coterie.dsl.values import JsonValue
from coterie.storage.wire import data_converter
from coterie.workflows.core.encoding import encoded


class Sent(BaseModel):
    """A value that leaves a run."""

    value: JsonValue


@pytest.fixture(autouse=True)
def _converter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workflow, "payload_converter", lambda: data_converter.payload_converter)


def test_a_value_as_large_as_may_travel_is_encoded_and_a_larger_one_is_not() -> None:
    room = MAX_VALUE_SIZE - len('{"value":""}')
    whole = encoded(Sent(value="x" * room))
    assert isinstance(whole, RawValue)
    assert whole.payload.data == b'{"value":"' + b"x" * room + b'"}'
    assert encoded(Sent(value="x" * (room + 1))) == (
        f"it has {MAX_VALUE_SIZE + 1:,} bytes, more than the {MAX_VALUE_SIZE:,} that may travel; "
        f"the largest part is value ({room + 3:,})"
    )


HALF, LARGE = "x" * (MAX_VALUE_SIZE // 2), "x" * MAX_VALUE_SIZE


@pytest.mark.parametrize(
    ("value", "part"),
    [
        ({"small": "y", "a": {"b": LARGE, "c": "y"}}, "value.a.b"),
        ({"a": {"b": HALF, "c": HALF}, "d": "y"}, "value.a"),
        ({"a": HALF, "b": HALF}, "value"),
        ({"a": [LARGE], "b": {}}, "value.a"),
    ],
    ids=["deep", "two halves below", "two halves", "a list"],
)
def test_the_deepest_part_that_is_most_of_a_large_value_is_named(
    value: JsonValue, part: str
) -> None:
    assert f"the largest part is {part} (" in str(encoded(Sent(value=value)))


def test_a_value_that_json_does_not_have_is_no_matter_of_size() -> None:
    with pytest.raises(TeamError, match="a Sent holds what JSON has not: "):
        encoded(Sent(value="\ud800"))
