"""What a model sees of its tools: its own, then a tool for each team that it may hand over to."""

import pytest

from coterie.dsl.model.plan import Plan
from coterie.dsl.values import Json, JsonValue
from coterie.workflows.agents.loop.offered_tools import loop_terms, offered_tools
from tests.support.tool_agents import function_tool, persona, tool_plan

ANSWER: Json = {"name": "check", "kind": "return", "value": 1}


def plan(name: str) -> Plan:
    review: Json = {"id": "review", "steps": [ANSWER]}
    if name:
        review["name"] = name
    tools = {"clock": function_tool("Clock.now")}
    actor = persona("clock", handoffs=["review"])
    return tool_plan(tools, {"actor": actor}, teams={"review": review})


@pytest.mark.parametrize(
    ("name", "about"), [("", ""), ("review", ""), ("Careful readers", " (Careful readers)")]
)
def test_a_team_is_offered_by_its_id_and_its_name_where_it_has_another(
    name: str, about: str
) -> None:
    of = plan(name)
    terms = loop_terms(of, of.personas["actor"], 5, may_hand_over=True)
    own, handoff = offered_tools(of, terms)
    assert own.name == "clock"
    assert handoff.name == "handoff_to_review"
    assert handoff.description == (
        f"Hands the work over to the team review{about}, and ends yours."
    )


def test_an_agent_that_another_waits_for_hands_nothing_over() -> None:
    of = plan("")
    terms = loop_terms(of, of.personas["actor"], 5, may_hand_over=False)
    assert [tool.name for tool in offered_tools(of, terms)] == ["clock"]


@pytest.mark.parametrize(
    ("written", "choice", "chosen"),
    [
        ("auto", "auto", None),
        ("required", "required", None),
        ("none", "none", None),
        ({"tool": "clock"}, "auto", "clock"),
    ],
)
def test_a_choice_of_tools_is_kept_and_a_named_tool_is_the_one_chosen(
    written: JsonValue, choice: str, chosen: str | None
) -> None:
    tools = {"clock": function_tool("Clock.now")}
    of = tool_plan(tools, {"actor": persona("clock", tool_choice=written)})
    terms = loop_terms(of, of.personas["actor"], 5, may_hand_over=True)
    assert (terms.choice, terms.chosen) == (choice, chosen)
