"""Names of tools in lists: unknown, repeated, unused, or such that no provider accepts them."""

import pytest

from tests.support.compiling import problems_of
from tests.unit.dsl.tools.documents import TOOLS, document
from tests.unit.dsl.tools.test_mcp_tools import compiled

ONCE = "{ tool: change, max_calls: 1 }"
PERSONA = "llm_config.personas.planner"
CALL = "{ name: call, tool: TOOL, arguments: { changes: [] } }"


def found(planner: str, tools: str = TOOLS, calls: str = "") -> list[tuple[str, str]]:
    text = document(planner, tools)
    if calls:
        step = CALL.replace("TOOL", calls)
        text = text.replace(
            "        - { name: plan,", f"        - {step}\n        - {{ name: plan,"
        )
    return [(one.code, one.path) for one in problems_of(text)]


USED = "tools: [read_files, calculate, change]"
ONE_BY_ONE = f"{USED}\nmax_turns: 2\nparallel_tool_calls: false"


@pytest.mark.parametrize(
    ("planner", "expected"),
    [
        (USED, []),
        (f"{USED[:-1]}, read_files]", [("E208", f"{PERSONA}.tools[3]")]),
        (f"{USED}\nexclude_tools: [change, change]", [("E208", f"{PERSONA}.exclude_tools[1]")]),
        (f"{USED}\nexclude_tools: [chang]", [("E204", f"{PERSONA}.exclude_tools[0]")]),
        (f"{USED}\nsubagents: [helpr]", [("E202", f"{PERSONA}.subagents[0]")]),
        (f"{USED}\nsubagents: [helper, helper]", [("E208", f"{PERSONA}.subagents[1]")]),
        (f"{USED}\nhandoffs: [revie]", [("E201", f"{PERSONA}.handoffs[0]")]),
        (
            f"{USED}\ntool_policy: [{ONCE}, {ONCE}]",
            [("E208", f"{PERSONA}.tool_policy[1].tool")],
        ),
        (
            f"{USED}\ntool_policy: [{{ tool: change, min_calls: 2, max_calls: 1 }}]",
            [("E106", f"{PERSONA}.tool_policy[0].max_calls")],
        ),
        (f"{USED}\ntool_policy: [{{ tool: change, min_calls: 1, max_calls: 1 }}]", []),
        (f"{ONE_BY_ONE}\ntool_policy: [{{ tool: change, min_calls: 2 }}]", []),
        (
            f"{ONE_BY_ONE}\ntool_policy: [{{ tool: change, min_calls: 3 }}]",
            [("E106", f"{PERSONA}.tool_policy[0].min_calls")],
        ),
        (
            f"{USED}\nmax_turns: 2\ntool_policy: [{{ tool: change, min_calls: 3 }}]",
            [],
        ),
    ],
)
def test_a_list_of_names_has_each_known_name_once(
    planner: str, expected: list[tuple[str, str]]
) -> None:
    assert [one for one in found(planner) if one[0] != "W520"] == expected


@pytest.mark.parametrize(
    ("planner", "calls", "unused"),
    [
        ("tools: [read_files]", "", ["calculate", "change"]),
        ("tools: [read_files]", "change", ["calculate"]),
        # a template may call any of them
        ("tools: [read_files]", "'{{ context.tool }}'", []),
    ],
)
def test_a_tool_is_used_by_a_list_or_a_step(planner: str, calls: str, unused: list[str]) -> None:
    warned = [path for code, path in found(planner, calls=calls) if code == "W520"]
    assert warned == [f"tools.{name}" for name in unused]


def test_a_tool_of_another_file_serves_any_document() -> None:
    other = "tools: { spare: { skill: Discovery.collect } }"
    assert problems_of(other, document(USED)) == ()


@pytest.mark.parametrize(
    ("persona", "unused"),
    [
        ("tools: [hub]", {"one"}),
        ("tools: [hub_delete]", {"one"}),
        ("tools: [one]", {"hub"}),
        ("max_reasks: 1", {"hub", "one"}),
    ],
)
def test_a_group_is_used_by_its_name_or_by_a_member(persona: str, unused: set[str]) -> None:
    made = compiled("hub: { mcp: hub, include: [delete] }\none: { mcp: hub/search_code }", persona)
    assert {one.path for one in made.warnings} == {f"tools.{name}" for name in unused}


@pytest.mark.parametrize(
    ("planner", "tools", "place"),
    [
        ("tools: [a.b]", "a.b: { skill: Discovery.collect }", "tools.a.b"),
        ("tools: [helper]", "helper: { skill: Discovery.collect }", None),
        # one that nobody offers goes to no provider
        ("max_reasks: 1", "a.b: { skill: Discovery.collect }", None),
    ],
)
def test_an_offered_name_is_one_that_every_provider_accepts(
    planner: str, tools: str, place: str | None
) -> None:
    refused = [path for code, path in found(planner, tools) if code == "E105"]
    assert len(refused) == (0 if place is None else 1)


@pytest.mark.parametrize(
    ("section", "expected"),
    [
        ("skill: Calculator.evaluate, timeout: 60s", []),
        ("skill: Calculator.evaluate, timeout: 1000h", ["tools.it.timeout"]),
        ("skill: Calculator.evaluate", []),
    ],
)
def test_a_call_takes_no_longer_than_any_may(section: str, expected: list[str]) -> None:
    problems = found("tools: [it]", f"it: {{ {section} }}")
    assert [path for code, path in problems if code == "E106"] == expected


@pytest.mark.parametrize(
    ("approval", "expected"),
    [
        ("{ when: '{{ arguments.expression == 1 }}' }", []),
        ("{ when: '{{ data.value == 1 }}' }", ["E207"]),
        ("{ at: after, when: '{{ data.value == 1 }}' }", []),
        ("{ at: after, when: '{{ arguments.expression == 1 }}' }", []),
        ("{ at: after, when: '{{ context.a == 1 }}' }", ["E107"]),
        ("{ when: { context_field: a, operator: exists } }", ["E107"]),
        (
            "{ when: ['{{ arguments.expression == 1 }}', '{{ context.a == 1 }}',"
            " { context_field: a, operator: exists }] }",
            ["E107", "E107"],
        ),
    ],
)
def test_the_condition_of_an_approval_reads_the_call_and_afterwards_its_result(
    approval: str, expected: list[str]
) -> None:
    tool = f"it: {{ skill: Calculator.evaluate, requires_approval: {approval} }}"
    codes = [code for code, path in found("tools: [it]", tool) if path.startswith("tools.it.req")]
    assert [code for code in codes if code.startswith("E")] == expected
