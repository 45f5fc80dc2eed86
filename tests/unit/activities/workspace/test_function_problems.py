"""Problems of a value are listed by their places, five at most, and never with the value."""

import pytest
from pydantic import TypeAdapter, ValidationError

from coterie.activities.workspace.function_failures import validation_problems


@pytest.mark.parametrize(
    ("count", "shown", "end"),
    [(1, 1, ""), (5, 5, ""), (6, 5, "; and 1 more"), (9, 5, "; and 4 more")],
)
def test_problems_beyond_the_fifth_are_counted(count: int, shown: int, end: str) -> None:
    with pytest.raises(ValidationError) as caught:
        TypeAdapter(list[int]).validate_python(["secret"] * count)
    text = validation_problems(caught.value)
    assert text.count("valid integer") == shown
    assert text.startswith("0: Input should be")
    assert text.endswith(end or "an integer")
    assert "secret" not in text


def test_a_problem_of_the_whole_value_has_no_place() -> None:
    with pytest.raises(ValidationError) as caught:
        TypeAdapter(int).validate_python([])
    assert validation_problems(caught.value) == "Input should be a valid integer"
