"""Bounds, defaults and nesting of declared paths: what contradicts itself is refused, no more."""

import pytest

from tests.support.compiling import problems_of

DOCUMENT = """
orchestration:
  entry_team: one
  context: {DECLARED}
  teams:
    one:
      tasks: [{ name: look, type: set, values: { it: "{{ context.a }} {{ context.a.b }}" } }]
"""


def found(declared: str) -> list[tuple[str, str]]:
    """Each refusal with its place in the declarations."""
    problems = problems_of(DOCUMENT.replace("{DECLARED}", declared))
    place = "orchestration.context."
    return [(p.code, p.path.removeprefix(place)) for p in problems if p.path.startswith(place)]


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        ("{ type: array, default: [], keep_last: 0 }", [("E106", "a.keep_last")]),
        ("{ type: array, default: [], keep_last: true }", [("E106", "a.keep_last")]),
        ("{ type: array, default: [], keep_last: 1 }", []),
        ("{ type: object, default: {}, keep_last: 1 }", [("E107", "a.keep_last")]),
        ("{ default: [], keep_last: 1 }", [("E107", "a.keep_last")]),
        ("{ type: array, default: [1], minItems: 1, keep_last: 1 }", []),
        (
            "{ type: array, default: [1, 2], minItems: 2, keep_last: 1 }",
            [("E405", "a.default"), ("E107", "a.keep_last")],
        ),
        ("{ type: array, default: [1, 2], keep_last: 2 }", []),
        ("{ type: array, default: [1, 2, 3], keep_last: 2 }", [("E405", "a.default")]),
        ("{ type: array, default: [1, 2, 3] }", []),
        ("{ type: array, default: 1, keep_last: 2 }", [("E405", "a.default")]),
    ],
)
def test_a_bound_of_a_list_fits_its_schema_and_its_default(
    entry: str, expected: list[tuple[str, str]]
) -> None:
    assert found(f"{{ a: {entry} }}") == expected


@pytest.mark.parametrize(
    ("above", "expected"),
    [
        ("{ type: object, default: {} }", []),
        ("{ type: [object, 'null'], default: null }", []),
        ("{ default: {} }", []),
        ("{ type: string, default: '' }", [("E107", "a.b")]),
        ("{ enum: [1, 2], default: 1 }", [("E107", "a.b")]),
        ("{ const: 1, default: 1 }", [("E107", "a.b")]),
    ],
)
def test_a_path_below_another_one_needs_a_mapping_there(
    above: str, expected: list[tuple[str, str]]
) -> None:
    assert found(f"{{ a: {above}, a.b: {{ default: 1 }} }}") == expected


@pytest.mark.parametrize(
    ("above", "expected"),
    [
        ("{ type: object, default: {} }", []),
        # what is filled in below must fit the schema above
        ("{ type: object, default: {}, maxProperties: 0 }", [("E405", "a.default")]),
        ("{ type: object, default: {}, minProperties: 1 }", [("E405", "a.default")]),
        ("{ type: object, default: { c: 1 }, required: [c] }", []),
    ],
)
def test_a_default_fits_its_schema_with_the_defaults_below_it(
    above: str, expected: list[tuple[str, str]]
) -> None:
    assert found(f"{{ a: {above}, a.b: {{ default: 1 }} }}") == expected
