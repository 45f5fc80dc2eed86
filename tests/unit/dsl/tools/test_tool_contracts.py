"""The contract of a tool: resolved from its function, narrowed by documents, pinned by a digest."""

import pytest

from coterie.dsl.json_schema.argument_schemas import arguments_schema
from coterie.dsl.json_schema.schema_checker import mismatches
from coterie.dsl.model.tools.tool_contract import FunctionTool
from coterie.dsl.values import Json
from tests.support.compiling import CAPABILITIES, plan_of, problems_of
from tests.unit.dsl.tools.documents import document


def tool(section: str) -> FunctionTool:
    made = plan_of(document("tools: [it]", f"it: {section}")).tools["it"]
    assert isinstance(made, FunctionTool)
    return made


def test_a_tool_takes_over_the_contract_of_its_function() -> None:
    made, contract = (
        tool("{ skill: Discovery.collect }"),
        CAPABILITIES.functions["Discovery.collect"],
    )
    assert made.description == contract.description
    assert made.labels == contract.labels == ("private",)
    assert (made.effect, made.terms.timeout) == ("read", contract.timeout)


def test_the_document_overrides_time_limit_and_retries_and_adds_labels() -> None:
    made = tool("{ skill: Discovery.collect, timeout: 5s, retries: 0, labels: [untrusted] }")
    assert (made.terms.timeout, made.terms.retries) == (5, 0)
    assert made.labels == ("private", "untrusted")


def test_a_short_read_may_be_a_local_activity_and_is_none_by_default() -> None:
    short = "skill: Calculator.evaluate, timeout: 2s"
    for section, expected in (
        (f"{{ {short} }}", False),
        (f"{{ {short}, local_activity: true }}", True),
        (f"{{ {short}, local_activity: false }}", False),
    ):
        assert tool(section).terms.local_activity is expected


@pytest.mark.parametrize(
    ("section", "reasons"),
    [
        ("skill: Files.read", "its timeout is 30 s, it has `retries: 2`"),
        ("skill: Files.read, timeout: 2s, retries: 1", "it has `retries: 1`"),
        ("skill: Files.write, timeout: 1s, retries: 0", "its effect is 'idempotent'"),
        (
            "skill: Calculator.evaluate, timeout: 2s, requires_approval: true",
            "its calls ask a person",
        ),
    ],
)
def test_a_tool_that_is_no_short_read_cannot_be_a_local_activity(
    section: str, reasons: str
) -> None:
    (problem,) = problems_of(document("tools: [it]", f"it: {{ {section}, local_activity: true }}"))
    assert problem.code == "E107"
    assert str(problem.path) == "tools.it.local_activity"
    assert problem.message == f"the tool 'it' cannot run as a local activity: {reasons}"


def test_fixed_input_is_not_offered() -> None:
    schema = tool("{ skill: AssetManager.process_action, fixed: { type: delete } }").input_schema
    assert schema is not None
    assert "type" not in schema["properties"]  # pyright: ignore[reportOperatorIssue]
    assert schema["required"] == ["file_path"]


@pytest.mark.parametrize("name", CAPABILITIES.functions)
def test_the_schema_of_arguments_is_an_object_that_the_function_accepts(name: str) -> None:
    schema = arguments_schema(CAPABILITIES.functions[name].input_schema)
    assert schema is not None
    assert schema["type"] == "object"
    assert "title" not in schema
    assert mismatches([], schema) != []


def test_a_property_may_be_called_like_a_keyword() -> None:
    title: Json = {"type": "string", "title": "Title"}
    schema = arguments_schema({"type": "object", "properties": {"title": title}})
    assert schema == {"type": "object", "properties": {"title": {"type": "string"}}}


def test_the_digest_changes_with_what_callers_rely_on_and_with_nothing_else() -> None:
    plain = tool("{ skill: Discovery.collect }")
    same = tool("{ skill: Discovery.collect, timeout: 5s, cache: run }")
    assert len(plain.contract) == 64
    assert plain.contract == same.contract
    for section in (
        "{ skill: Discovery.collect, description: Reads. }",
        "{ skill: Discovery.collect, fixed: { path: src } }",
        "{ skill: Discovery.collect, labels: [egress] }",
        "{ skill: Calculator.evaluate }",
    ):
        assert tool(section).contract != plain.contract


def test_the_plan_holds_the_schema_of_offered_tools_only() -> None:
    tools = plan_of(document()).tools
    assert tools["read_files"].input_schema is not None
    assert tools["calculate"].input_schema is None
    assert tools["calculate"].contract


@pytest.mark.parametrize(
    ("section", "code", "place"),
    [
        ("{ skill: Discovery.colect }", "E204", "tools.it.skill"),
        ("{ description: Nothing. }", "E102", "tools.it"),
        ("{ skill: Discovery.collect, agent: helper }", "E107", "tools.it"),
        ("{ skill: AssetManager.apply_changes, cache: run }", "E107", "tools.it.cache"),
        ("{ skill: CommandRunner.run_once, retries: 2 }", "E107", "tools.it.retries"),
        ("{ skill: Discovery.collect, stateful: true }", "E101", "tools.it.stateful"),
        ("{ skill: Discovery.collect, on_error: retry }", "E101", "tools.it.on_error"),
        ("{ skill: Discovery.collect, input_schema: { a: {} } }", "E101", "tools.it.input_schema"),
        ("{ skill: Discovery.collect, labels: [secret] }", "E105", "tools.it.labels[0]"),
        ("{ skill: Discovery.collect, cach: run }", "E101", "tools.it.cach"),
        ("{ skill: Discovery.collect, fixed: { pth: x } }", "E213", "tools.it.fixed.pth"),
    ],
)
def test_a_key_that_means_nothing_is_refused_where_it_is_written(
    section: str, code: str, place: str
) -> None:
    found = problems_of(document("tools: [it]", f"it: {section}"))
    assert [(one.code, one.path) for one in found] == [(code, place)]
