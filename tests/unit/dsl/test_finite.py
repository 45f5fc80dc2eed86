"""Numbers that JSON has not are found, wherever they are, and refused in a start's context."""

from pathlib import Path

import pytest

from coterie.argument_values import read_context
from coterie.failures import CommandError
from coterie.settings import load
from dsl.errors import InvalidDocument
from dsl.finite import non_finite
from dsl.values import JsonValue

NAN, INFINITE = float("nan"), float("inf")


FOUND: list[tuple[JsonValue, str | None]] = [
    ({"a": {"b": [1, NAN]}}, "a.b.1"),
    ({"a": -INFINITE}, "a"),
    ([[0.5], {"x": INFINITE}], "1.x"),
    ({"a": [1e308, 0, "NaN", None, True, {}]}, None),
]


@pytest.mark.parametrize(("value", "path"), FOUND)
def test_such_a_number_is_found_by_its_path(value: JsonValue, path: str | None) -> None:
    assert non_finite(value) == path


@pytest.mark.parametrize(
    ("given", "set"),
    [
        ('{"a": {"b": NaN}}', ()),
        ('{"a": {"b": 1e400}}', ()),
        (None, ("a.b=NaN",)),
        (None, ("a.b=-1e400",)),
        (None, ('a={"b": Infinity}',)),
    ],
)
def test_a_context_with_such_a_number_is_refused_before_the_start(
    tmp_path: Path, given: str | None, set: tuple[str, ...]
) -> None:
    with pytest.raises(CommandError, match=r"'a\.b' is not a JSON number \(NaN or infinite\)"):
        read_context(load({}, tmp_path), given, set)


@pytest.mark.parametrize("written", [".nan", ".NaN", ".inf", "-.INF", "+.inf", "1e400", "-1e999"])
def test_a_context_file_with_such_a_number_is_refused_with_its_path(
    tmp_path: Path, written: str
) -> None:
    (tmp_path / "context.yml").write_text(f"a:\n  b: [1, {written}]\n")
    with pytest.raises(InvalidDocument) as error:
        read_context(load({}, tmp_path), "@context.yml", ())
    (problem,) = error.value.problems
    assert (problem.code, problem.line, problem.column) == ("E005", 2, 10)
    assert problem.message.startswith(f"the context's 'a.b[1]': {written} is ")


def test_a_context_file_may_hold_their_spelling_as_a_text(tmp_path: Path) -> None:
    (tmp_path / "context.yml").write_text("a: ['.nan', \".inf\", .info, nan]\n")
    texts = [".nan", ".inf", ".info", "nan"]
    assert read_context(load({}, tmp_path), "@context.yml", ()) == {"a": texts}
