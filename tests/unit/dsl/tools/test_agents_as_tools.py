"""Agents and teams as tools: their contracts, their personas in the plan, and circles of them."""

import pytest

from coterie.dsl.model.tools.tool_contract import AgentTool, is_stateful
from coterie.dsl.model.tools.tool_section import MemoryRead
from tests.support.compiling import plan_of, problems_of
from tests.unit.dsl.tools.documents import document


def codes(planner: str, tools: str, **more: str) -> list[tuple[str, str]]:
    found = problems_of(document(planner, tools, **more))
    return [(one.code, one.path) for one in found if one.severity == "error"]


def test_an_agent_as_a_tool_takes_a_query_and_is_in_the_plan() -> None:
    plan = plan_of(document("tools: [ask]", "ask: { agent: helper }"))
    tool = plan.tools["ask"]
    assert (tool.made_of, tool.description) == ("helper", "Helps.")
    assert "helper" in plan.personas
    assert tool.input_schema == {
        "type": "object",
        "properties": {"query": {"type": "string", "minLength": 1}},
        "required": ["query"],
        "additionalProperties": False,
    }


def test_properties_beside_the_query_are_optional_and_a_whole_schema_replaces_all() -> None:
    short = "ask: { agent: helper, input_schema: { city: { type: string } } }"
    schema = plan_of(document("tools: [ask]", short)).tools["ask"].input_schema or {}
    assert list(schema["properties"]) == ["query", "city"]  # pyright: ignore[reportArgumentType]
    assert schema["required"] == ["query"]
    whole = (
        "ask: { agent: other, description: x, "
        "input_schema: { type: object, properties: { city: { type: string } } } }"
    )
    other = document("tools: [ask]", whole).replace(
        "    helper:", '    other: { prompts: { user: "{{ input.city }}" } }\n    helper:'
    )
    schema = plan_of(other).tools["ask"].input_schema or {}
    assert list(schema["properties"]) == ["city"]  # pyright: ignore[reportArgumentType]


def test_a_subagent_is_a_tool_of_its_own_name() -> None:
    plan = plan_of(document("tools: [read_files]\nsubagents: [helper]"))
    assert plan.personas["planner"].tools == ("read_files", "helper")
    assert plan.tools["helper"].made_of == "helper"


def test_a_tool_of_the_document_describes_a_subagent() -> None:
    tools = "helper: { agent: helper, description: Better., stateful: true }"
    plan = plan_of(document("subagents: [helper]", tools))
    assert plan.tools["helper"].description == "Better."
    assert is_stateful(plan.tools["helper"])


def test_reads_name_the_agents_whose_work_a_call_sees() -> None:
    tools = "first: { agent: helper }\nthen: { agent: helper, reads: [{ from: first }] }"
    plan = plan_of(document("tools: [first, then]", tools))
    then = plan.tools["then"]
    assert isinstance(then, AgentTool)
    assert then.reads == (MemoryRead.model_validate({"from": "first"}),)
    assert then.description == ("Helps.\nIt sees the work of first; call first before it.")
    assert plan.tools["first"].description == "Helps."


@pytest.mark.parametrize(
    ("planner", "tools", "code", "place"),
    [
        ("tools: [it]", "it: { agent: helpr }", "E202", "tools.it.agent"),
        ("tools: [it]", "it: { team: revew }", "E201", "tools.it.team"),
        ("tools: [it]", "it: { team: review }", "E102", "tools.it.description"),
        ("tools: [it]", "it: { agent: helper, cache: run }", "E101", "tools.it.cache"),
        ("tools: [it]", "it: { agent: helper, retries: 2 }", "E107", "tools.it.retries"),
        ("tools: [it]", "it: { agent: helper, on_error: retry }", "E107", "tools.it.on_error"),
        (
            "tools: [it]",
            "it: { team: review, description: x, stateful: true }",
            "E101",
            "tools.it.stateful",
        ),
        (
            "tools: [it]",
            "it: { agent: helper, input_schema: { city: { type: strng } } }",
            "E505",
            "tools.it.input_schema",
        ),
        ("tools: [it]", "it: { agent: helper, fixed: { cty: x } }", "E213", "tools.it.fixed.cty"),
        (
            "tools: [it]",
            "it: { agent: helper, reads: [{ from: othr }] }",
            "E204",
            "tools.it.reads[0].from",
        ),
        (
            "tools: [it, so]",
            "it: { agent: helper, reads: [{ from: so }] }\nso: { team: review, description: x }",
            "E107",
            "tools.it.reads[0].from",
        ),
        ("subagents: [helper]", "helper: { skill: Discovery.collect }", "E208", "llm_config"),
        ("tools: [it]", "it: { agent: planner, description: x }", "E508", "tools.it"),
        ("tools: [it]", "it: { team: main, description: x }", "E508", "tools.it"),
        (
            "tools: [it, so]",
            "it: { agent: helper, reads: [{ from: so }] }\n"
            "so: { agent: helper, reads: [{ from: it }] }",
            "E508",
            "tools.it.reads",
        ),
    ],
)
def test_a_tool_that_cannot_be_called_is_refused_where_it_is_written(
    planner: str, tools: str, code: str, place: str
) -> None:
    ((found, path),) = codes(planner, tools)
    assert found == code
    assert path.startswith(place)


def test_a_prompt_that_reads_what_no_argument_gives_is_refused() -> None:
    text = document("tools: [it]", "it: { agent: helper }").replace(
        'user: "{{ input.query }}"', 'user: "{{ input.city }}"'
    )
    (found,) = problems_of(text)
    assert found.code == "E207"


def test_a_tool_that_nothing_calls_is_a_warning() -> None:
    found = problems_of(document("tools: [read_files]"))
    assert [(one.code, one.path) for one in found] == [
        ("W520", "tools.calculate"),
        ("W520", "tools.change"),
    ]
