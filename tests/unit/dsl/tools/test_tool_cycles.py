"""Agents and teams that call each other in a cycle: each tool is reported once, with its path."""

import pytest

from tests.support.compiling import problems_of

DOCUMENT = """
llm_config:
  default_provider: scripted
  default_model: demo
  personas:
    first: { prompts: { user: Go. }, tools: FIRST }
    second: { prompts: { user: Go. }, tools: SECOND }
    third: { prompts: { user: Go. }, tools: THIRD }
tools:
  ask_first: { agent: first, description: A. }
  ask_second: { agent: second, description: B. }
  ask_third: { agent: third, description: C. }
  crew: { team: begins, description: D. }
orchestration:
  entry_team: main
  teams:
    main: { tasks: [{ name: ask, persona_key: first }] }
    begins: { tasks: [NOTE], routing: ROUTING }
    goes_on: { tasks: [{ name: ask, persona_key: first }] }
    beside: { tasks: [NOTE] }
    other: { tasks: [NOTE] }
    meets: { type: concentrator, tasks: MEETS }
"""
NOTE = "{ name: note, type: set, values: { x: 1 } }"
ASKS = "[{ name: ask, persona_key: first }]"
MEETING = "{ rules: [{ next_team: [beside, other], concentrator: meets }] }"


def circles(**words: str) -> dict[str, list[str]]:
    """The path of each tool that leads back to its caller."""
    known = {"FIRST": "[]", "SECOND": "[]", "THIRD": "[]", "ROUTING": "{ default: null }"}
    text = DOCUMENT
    for word, value in (known | {"MEETS": f"[{NOTE}]"} | words | {"NOTE": NOTE}).items():
        text = text.replace(word, value)
    errors = [one for one in problems_of(text) if one.severity == "error"]
    assert {one.code for one in errors} <= {"E508"}
    assert len({one.path for one in errors}) == len(errors)
    return {
        one.path.removeprefix("tools."): one.message.partition(": ")[2].split(" -> ")
        for one in errors
    }


def test_agents_without_a_path_back_form_no_cycle() -> None:
    calls = {"FIRST": "[ask_second, ask_third, crew]", "SECOND": "[ask_third]"}
    assert circles(**calls, ROUTING="{ default: beside }") == {}


def test_each_tool_of_a_cycle_is_reported_with_the_shortest_path_back() -> None:
    found = circles(FIRST="[ask_second]", SECOND="[ask_third, ask_first]", THIRD="[ask_first]")
    assert found == {
        "ask_second": ["first", "second", "first"],
        "ask_third": ["second", "third", "first", "second"],
        "ask_first": ["second", "first", "second"],
    }


def test_a_tool_outside_the_cycle_is_not_reported() -> None:
    found = circles(FIRST="[ask_third, ask_second]", SECOND="[ask_first]")
    assert sorted(found) == ["ask_first", "ask_second"]


@pytest.mark.parametrize(
    ("words", "way"),
    [
        ({"ROUTING": "{ default: goes_on }"}, ["first", "begins", "goes_on", "first"]),
        (
            {"ROUTING": "{ rules: [{ next_team: goes_on, condition: all_success }] }"},
            ["first", "begins", "goes_on", "first"],
        ),
        (
            {"ROUTING": "{ rules: [{ next_team: [beside, goes_on] }] }"},
            ["first", "begins", "goes_on", "first"],
        ),
        (
            {"ROUTING": MEETING, "MEETS": ASKS},
            ["first", "begins", "meets", "first"],
        ),
        ({"ROUTING": "{ rules: [{ next_team: null }], default: beside }"}, None),
    ],
)
def test_a_team_leads_where_its_routes_lead(words: dict[str, str], way: list[str] | None) -> None:
    found = circles(FIRST="[crew]", **words)
    assert found == ({} if way is None else {"crew": way})
