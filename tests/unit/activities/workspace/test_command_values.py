"""Bounds of the values that a command takes: each limit itself is still allowed."""

from pathlib import Path

import pytest
from pydantic import JsonValue

from coterie.activities.workspace.command_parameters import (
    MAX_VALUES,
    Parameter,
    ParameterProblem,
    checked_values,
)

ROOT = Path("/work")


def checked(parameter: Parameter, value: JsonValue) -> tuple[str, ...]:
    return checked_values({"x": parameter}, {"x": value}, ROOT, ROOT)["x"]


@pytest.mark.parametrize(
    ("parameter", "fits", "exceeds"),
    [
        (Parameter("x", many=True), ["a"] * MAX_VALUES, ["a"] * (MAX_VALUES + 1)),
        (Parameter("x", max_length=3), "abc", "abcd"),
        (Parameter("x", "integer"), 10**18, 10**18 + 1),
        (Parameter("x", "integer"), -(10**18), -(10**18) - 1),
        (Parameter("x", "integer", minimum=-1, maximum=2), 2, 3),
        (Parameter("x", "integer", minimum=-1, maximum=2), -1, -2),
        (Parameter("x", "number", maximum=0.5), 0.5, 0.51),
        (Parameter("x", "number"), 1e18, 1.1e18),
        (Parameter("x", "number"), 1, True),
        (Parameter("x", "choice", values=("low", "high")), "low", "lo"),
        (Parameter("x", pattern="a+"), "aa", "ab"),
        (Parameter("x"), "a\tb\n", "a\x00b"),
    ],
)
def test_a_value_fits_up_to_its_limit(
    parameter: Parameter, fits: JsonValue, exceeds: JsonValue
) -> None:
    texts = fits if isinstance(fits, list) else [fits]
    assert checked(parameter, fits) == tuple(map(str, texts))
    with pytest.raises(ParameterProblem):
        checked(parameter, exceeds)


@pytest.mark.parametrize("value", [float("inf"), float("-inf"), float("nan")])
def test_a_number_is_finite(value: float) -> None:
    with pytest.raises(ParameterProblem, match="must be from -inf to inf"):
        checked(Parameter("x", "number"), value)
