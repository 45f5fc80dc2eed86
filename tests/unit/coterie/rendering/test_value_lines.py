"""Values as people read them: on one line if they fit, else part by part, never without end."""

from itertools import islice

import pytest
from pydantic import JsonValue
from rich.cells import cell_len

from coterie.rendering.run_summary import compact, value_lines


@pytest.mark.parametrize(
    ("value", "line"),
    [
        ([], "[]"),
        ({}, "{}"),
        (["a", 1, None], '["a", 1, null]'),
        ({"tasks": [{"id": "t1"}]}, '{tasks: [{id: "t1"}]}'),
        ("x" * 40, None),
        (["x" * 40], None),
        ({"k" * 40: 1}, None),
        ([1] * 1_000_000, None),
    ],
)
def test_a_value_is_on_one_line_if_it_fits(value: JsonValue, line: str | None) -> None:
    assert compact(value, 30) == line


def test_what_people_came_for_is_shown_and_not_counted() -> None:
    value: JsonValue = {
        "tasks": [{"id": "t1", "description": "Mend the parser of numbers in every language."}],
        "sources": ["https://example.org/a", "https://example.org/b"],
    }
    assert list(value_lines(value, 40, "  ")) == [
        "  tasks:",
        "    -",
        '      id: "t1"',
        "      description:",
        "        Mend the parser of numbers in",
        "        every language.",
        "  sources:",
        '    - "https://example.org/a"',
        '    - "https://example.org/b"',
    ]


def test_a_deep_or_a_hostile_value_has_an_end() -> None:
    deep: JsonValue = "x" * 100
    for _ in range(900):
        deep = [deep]
    lines = list(islice(value_lines(deep, 60, "  "), 1_000))
    assert lines[-1].strip() == "- ..."
    assert all(cell_len(line) <= 60 for line in lines)
    assert "\x1b" not in "".join(islice(value_lines({"\x1b[31m": "\x1b" * 80}, 60, "  "), 9))
