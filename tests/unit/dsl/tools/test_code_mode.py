"""`code_mode`: what is refused, what the model sees, and the worst case."""

import pytest

from coterie.dsl.analysis.findings import analysed
from coterie.dsl.analysis.worst_case import worst_case
from coterie.dsl.analysis.worst_case_of_models import Terms
from coterie.dsl.model.traversal.code_mode import code_mode_of, direct_tools, name_in_code
from coterie.dsl.tool_loop.function_stubs import function_stub, result_type
from coterie.dsl.values import Json, JsonValue
from tests.support.compiling import compiled, plan_of, problems_of
from tests.unit.dsl.tools.documents import document

TOOLS = """
code: { skill: Python.run }
other_code: { skill: Python.run }
list: { skill: Discovery.collect }
read-it: { skill: Files.read }
read_it: { skill: Files.read }
"""
KEY = "llm_config.personas.planner.code_mode"


@pytest.mark.parametrize(
    ("keys", "code", "place"),
    [
        ("tools: [list]\ncode_mode: true", "E503", KEY),
        ("tools: [code]\ncode_mode: true", "E503", KEY),
        ("tools: [code, list]\ncode_mode: []", "E503", KEY),
        ("tools: [code, list]\ncode_mode: [code]", "E107", f"{KEY}[0]"),
        ("tools: [code, list]\ncode_mode: [list, list]", "E208", f"{KEY}[1]"),
        ("tools: [code, list]\ncode_mode: [lst]", "E204", f"{KEY}[0]"),
        ("tools: [code, other_code, list]\ncode_mode: true", "E107", KEY),
        ("tools: [code, read-it, read_it]\ncode_mode: true", "E107", KEY),
        ("tools: [code, list]\ncode_mode: true\ntool_calls: return", "E107", KEY),
        (
            "tools: [code, list]\ncode_mode: [list]\n"
            "tool_policy: [{ tool: list, exit_on_success: true }]",
            "E107",
            f"{KEY}[0]",
        ),
        (
            "tools: [code, list]\ncode_mode: [list]\ntool_choice: { tool: list }",
            "E107",
            f"{KEY}[0]",
        ),
        ("code_mode: true", "E503", KEY),
        ("tools: [code, list]\ncode_mode: 5", "E103", KEY),
        ("tools: [code, list]\ncode_mode: true", None, ""),
        ("tools: [code, list]\ncode_mode: false", None, ""),
    ],
)
def test_what_code_mode_cannot_mean_is_refused_at_its_place(
    keys: str, code: str | None, place: str
) -> None:
    problems = problems_of(document(keys, TOOLS))
    errors = [(one.code, one.path) for one in problems if one.code.startswith("E")]
    assert errors == ([] if code is None else [(code, place)])


@pytest.mark.parametrize("key", ["cache: run", "local_activity: true, timeout: 1s, retries: 0"])
def test_a_tool_whose_calls_have_effects_is_neither_cached_nor_local(key: str) -> None:
    tools = f"code: {{ skill: Python.run, {key} }}\nlist: {{ skill: Discovery.collect }}"
    problems = problems_of(document("tools: [code, list]\ncode_mode: true", tools))
    assert "E107" in {one.code for one in problems}


def test_tools_that_end_the_agent_remain_tools_of_their_own() -> None:
    keys = (
        "tools: [code, list, read-it]\ncode_mode: true\n"
        "tool_policy: [{ tool: list, exit_on_success: true }]"
    )
    plan = plan_of(document(keys, TOOLS))
    persona = plan.personas["planner"]
    mode = code_mode_of(persona, plan.tools)
    assert mode is not None
    assert (mode.tool, mode.functions) == ("code", {"read_it": "read-it"})
    assert direct_tools(persona, plan.tools) == ("code", "list")


@pytest.mark.parametrize(
    ("tool", "name"),
    [
        ("look", "look"),
        ("list-orders", "list_orders"),
        ("list", "tool_list"),
        ("json", "tool_json"),
        ("class", "tool_class"),
        ("3d", "tool_3d"),
        ("coterie_value", "tool_coterie_value"),
    ],
)
def test_a_tool_has_a_name_that_python_takes(tool: str, name: str) -> None:
    assert name_in_code(tool) == name


SCHEMA: Json = {
    "type": "object",
    "properties": {
        "limit": {"type": "integer", "default": 10},
        "query": {"type": "string", "description": 'What to find.\nOr """nothing"""'},
        "kind": {"enum": ["book", "map"]},
        "at": {"anyOf": [{"type": "string"}, {"type": "null"}]},
        "tags": {"type": "array", "items": {"$ref": "#/$defs/Tag"}},
        "where": {"type": "object", "properties": {"x": {"type": "number"}}},
        "from": {"type": ["string", "integer"], "description": "Where it begins."},
    },
    "required": ["query", "kind"],
    "$defs": {"Tag": {"type": "string"}},
}


def test_a_stub_has_types_defaults_and_descriptions() -> None:
    assert function_stub("find", "Finds\nthings.", SCHEMA) == (
        "async def find(query: str, kind: Literal['book', 'map'], limit: int = 10, "
        'at: str | None = ..., tags: list[str] = ..., where: {"x": float} = ..., **more):\n'
        '    """Finds things.\n'
        "    query: What to find. Or '''nothing'''\n"
        '    **{"from": ...}: str | int, optional. Where it begins.\n'
        '    """'
    )


def test_code_knows_the_results_of_its_tools() -> None:
    plan = plan_of(document("tools: [code, read_it]\ncode_mode: true", TOOLS))
    assert plan.tools["read_it"].returns.startswith('{"path": str, "text": str, "start_line": int')
    without = plan_of(document("tools: [code, read_it]", TOOLS))
    assert {tool.returns for tool in without.tools.values()} == {""}
    listed = plan_of(document("tools: [code, list]\ncode_mode: true", TOOLS)).tools["list"]
    stub = function_stub("f", "F.", {}, listed.returns)
    assert stub.startswith("async def f(**more) -> {")


def test_a_stub_of_any_arguments_takes_more() -> None:
    assert function_stub("f", "", {"type": "object"}) == (
        'async def f(**more):\n    """No description."""'
    )


def test_the_worst_case_counts_the_calls_of_code_and_the_parts_of_programs() -> None:
    def total(keys: str) -> float:
        done = compiled(
            document(f"tools: [code, list]\nmax_turns: 2\nmax_reasks: 0\n{keys}", TOOLS)
        )
        return worst_case(done, analysed(done), Terms({}, 1000)).total.function_calls

    assert total("code_mode: false") == 200
    assert total("code_mode: true") == 200 + 200 + 200
    assert total("code_mode: true\nparallel_tool_calls: false") == 2 + 200 + 200
    bound = "tool_policy: [{ tool: list, max_calls: 3 }]"
    assert total(f"code_mode: true\nparallel_tool_calls: false\n{bound}") == 2 + 3 + 3


@pytest.mark.parametrize("form", ["anyOf", "properties"])
def test_a_type_of_definitions_that_name_each_other_is_bounded(form: str) -> None:
    parts: list[JsonValue] = [{"$ref": "#/$defs/A", "title": str(n)} for n in range(60)]
    below: JsonValue = parts if form == "anyOf" else {f"part_{n}": parts[n] for n in range(60)}
    schema: Json = {"properties": {"a": {"$ref": "#/$defs/A"}}, "$defs": {"A": {form: below}}}
    if form == "properties":
        schema["$defs"] = {"A": {"type": "object", form: below}}
    assert len(function_stub("f", "F.", schema)) < 5_000
    assert len(result_type(schema)) <= 600
