"""Limits of visits and types of teams: each contradiction is reported once, at its key."""

import pytest

from tests.support.compiling import problems_of

DOCUMENT = """
orchestration:
  entry_team: a
  teams:
    a: { A, routing: { default: b } }
    b: { B, routing: { default: c } }
    c: { C, routing: { default: d } }
    d: { D, routing: { default: null } }
"""
NOTE = "{ name: note, type: set, values: { x: 1 } }"
TASKS = f"tasks: [{NOTE}]"
CALLS = "tasks: [{ name: one, team: b }, { name: two, team: b }]"


def found(**teams: str) -> list[tuple[str, str]]:
    """Each refusal, with its place below `teams`."""
    text = DOCUMENT
    for name in "ABCD":
        text = text.replace(f"{{ {name},", f"{{ {teams.get(name.lower(), TASKS)},")
    errors = [one for one in problems_of(text) if one.severity == "error"]
    return [(one.code, one.path.removeprefix("orchestration.teams.")) for one in errors]


def bounded(then: str, per: str = "d", tasks: str = TASKS) -> str:
    return f"{tasks}, max_visits: {{ per: {per}, limit: 1, then: {then} }}"


CONCENTRATOR = "type: concentrator, max_visits: { per: a, limit: 1, then: d }"


@pytest.mark.parametrize(
    ("teams", "expected"),
    [
        ({"b": bounded("d", per="a")}, []),
        ({"b": bounded("b")}, [("E107", "b.max_visits.then")]),
        ({"b": bounded("d", per="b")}, [("E107", "b.max_visits.per")]),
        ({"b": bounded("e")}, [("E201", "b.max_visits.then")]),
        ({"b": bounded("d", per="e")}, [("E201", "b.max_visits.per")]),
        # a step runs it: said once, however many do
        ({"a": CALLS, "b": bounded("d")}, [("E107", "b.max_visits")]),
        ({"c": CONCENTRATOR}, [("E107", "c.max_visits")]),
        # in a circle, each of them; what leads into a circle is in none
        (
            {"a": bounded("b"), "b": bounded("c"), "c": bounded("b")},
            [("E107", "b.max_visits.then"), ("E107", "c.max_visits.then")],
        ),
        ({"a": bounded("b"), "b": bounded("c")}, []),
    ],
)
def test_a_limit_of_visits_leads_on(teams: dict[str, str], expected: list[tuple[str, str]]) -> None:
    assert found(**teams) == expected


@pytest.mark.parametrize(
    ("team", "expected"),
    [
        ("tasks: []", [("E102", "b.tasks")]),
        ("type: concentrator", []),
        ("type: concentrator, tasks: []", []),
        (f"{TASKS}, collect: {{ timeout: 1m }}", [("E107", "b.collect")]),
        (f"type: concentrator, {TASKS}, collect: {{ timeout: 1m }}", []),
        ("collect: { timeout: 1m }, tasks: []", [("E102", "b.tasks"), ("E107", "b.collect")]),
    ],
)
def test_a_team_has_tasks_and_the_sections_of_its_type(
    team: str, expected: list[tuple[str, str]]
) -> None:
    assert found(b=team) == expected
