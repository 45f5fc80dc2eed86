"""The tools of a persona: what it offers, which agent type follows, and what is refused."""

import pytest

from coterie.dsl.model.plan import Persona
from coterie.dsl.model.steps import PersonaStep
from coterie.dsl.model.tools.tool_use import NamedTool
from tests.support.compiling import plan_of, problems_of
from tests.unit.dsl.tools.documents import document


def planner(keys: str, step: str = "") -> tuple[Persona, PersonaStep]:
    plan = plan_of(document(keys, step=step))
    (task,) = plan.teams["main"].steps
    assert isinstance(task, PersonaStep)
    return plan.personas[task.persona_key], task


def test_a_persona_with_tools_calls_them_by_default() -> None:
    persona, task = planner("tools: [calculate, read_files]")
    assert task.agent_type == "generic_tool_calling"
    assert persona.tools == ("calculate", "read_files")
    assert (persona.max_turns, persona.tool_choice, persona.tool_calls) == (10, "auto", "execute")


def test_excluded_tools_are_not_offered() -> None:
    step = ", config: { exclude_tools: [calculate] }"
    persona, _ = planner("tools: [calculate, read_files]", step)
    assert persona.tools == ("read_files",)


def test_an_agent_whose_tools_are_all_excluded_asks_once() -> None:
    persona, task = planner("tools: [calculate]", ", config: { exclude_tools: [calculate] }")
    assert (persona.tools, task.agent_type) == ((), "generic_single_shot")


@pytest.mark.parametrize(
    ("keys", "step", "places"),
    [
        ("exclude_tools: [calculate]", "", ["llm_config.personas.planner.exclude_tools[0]"]),
        ("tools: [calculate]\nexclude_tools: [calculate]", "", []),
        ("exclude_tools: [calculate]", ", config: { tools: [calculate, read_files] }", []),
        (
            "tools: [read_files]",
            ", config: { exclude_tools: [read_files, calculate] }",
            ["orchestration.teams.main.tasks[0].config.exclude_tools[1]"],
        ),
        (
            "tools: [calculate]",
            ", config: { tools: [], exclude_tools: [calculate] }",
            [],  # another task may use the persona with its tools
        ),
    ],
)
def test_an_exclusion_of_a_tool_that_is_not_offered_is_warned_of(
    keys: str, step: str, places: list[str]
) -> None:
    problems = problems_of(document(keys, step=step))
    assert [one.path for one in problems if one.code == "W517"] == places


def test_the_choice_of_a_tool_reaches_the_plan() -> None:
    keys = "tools: [calculate]\ntool_choice: { tool: calculate }\nmax_turns: 3"
    persona, _ = planner(keys)
    assert persona.tool_choice == NamedTool(tool="calculate")
    assert persona.max_turns == 3


@pytest.mark.parametrize(
    ("keys", "code", "place"),
    [
        ("tools: [reed_files]", "E204", "llm_config.personas.planner.tools[0]"),
        ("tools: [calculate, calculate]", "E208", "llm_config.personas.planner.tools[1]"),
        ("subagents: [helpr]", "E202", "llm_config.personas.planner.subagents[0]"),
        (
            "tools: [calculate]\nexclude_tools: [calculat]",
            "E204",
            "llm_config.personas.planner.exclude_tools[0]",
        ),
        (
            "tools: [calculate]\nhandoffs: [revew]",
            "E201",
            "llm_config.personas.planner.handoffs[0]",
        ),
        (
            "tools: [calculate]\ntool_choice: { tool: read_files }",
            "E204",
            "llm_config.personas.planner.tool_choice.tool",
        ),
        (
            "tools: [calculate]\ntool_choice: requird",
            "E105",
            "llm_config.personas.planner.tool_choice",
        ),
        (
            "tools: [calculate]\ntool_policy: [{ tool: read_files, min_calls: 1 }]",
            "E204",
            "llm_config.personas.planner.tool_policy[0].tool",
        ),
        (
            "tools: [calculate]\ntool_policy: [{ tool: calculate }]",
            "E107",
            "llm_config.personas.planner.tool_policy[0]",
        ),
        (
            "tools: [calculate]\ntool_policy: [{ tool: calculate, min_calls: 3, max_calls: 2 }]",
            "E106",
            "llm_config.personas.planner.tool_policy[0].max_calls",
        ),
        (
            "tools: [calculate]\ntool_choice: none\n"
            "tool_policy: [{ tool: calculate, min_calls: 1 }]",
            "E107",
            "llm_config.personas.planner.tool_policy[0].min_calls",
        ),
        (
            "tools: [calculate]\nmax_turns: 2\nparallel_tool_calls: false\n"
            "tool_policy: [{ tool: calculate, min_calls: 3 }]",
            "E106",
            "llm_config.personas.planner.tool_policy[0].min_calls",
        ),
        (
            "tools: [calculate]\ntool_calls: return\noutput_schema: { type: object }",
            "E107",
            "llm_config.personas.planner.output_schema",
        ),
        (
            "tools: [calculate]\ntool_calls: return\n"
            "tool_policy: [{ tool: calculate, min_calls: 1 }]",
            "E107",
            "llm_config.personas.planner.tool_policy",
        ),
        ("max_turns: 3", "E503", "llm_config.personas.planner.max_turns"),
        ("max_turns: 0\ntools: [calculate]", "E106", "llm_config.personas.planner.max_turns"),
        (
            "tools: [calculate]\ntool_policy: [{ tool: calculate, min_call: 1 }]",
            "E101",
            "llm_config.personas.planner.tool_policy[0].min_call",
        ),
    ],
)
def test_a_contradiction_is_refused_where_it_is_written(keys: str, code: str, place: str) -> None:
    found = problems_of(document(keys))
    assert [(one.code, one.path) for one in found if one.severity == "error"] == [(code, place)]


@pytest.mark.parametrize(
    ("keys", "agent_type", "code"),
    [
        ("tools: [calculate]", "generic_single_shot", "E503"),
        ("tools: [calculate]", "mine:agent", "E503"),
        ("tools: [calculate]", "generic_tool_caling", "E203"),
        ("stream: true", "generic_single_shoot", "E203"),
        ("temperature: 0", "generic_tool_calling", "E503"),
    ],
)
def test_an_agent_type_that_disagrees_with_the_tools_is_refused(
    keys: str, agent_type: str, code: str
) -> None:
    (found,) = problems_of(document(keys, step=f", agent_type: {agent_type}"))
    assert (found.code, found.path) == (code, "orchestration.teams.main.tasks[0].agent_type")


def test_a_stream_that_an_agent_type_of_a_package_never_shows_is_refused() -> None:
    (found,) = problems_of(document("stream: true", step=", agent_type: mine:agent"))
    assert (found.code, found.path) == ("E503", "llm_config.personas.planner.stream")


def test_a_misspelled_tool_gets_the_nearest_name() -> None:
    (found,) = problems_of(document("tools: [reed_files]"))
    assert found.fix == "did you mean 'read_files'?"


def test_a_tool_name_that_providers_refuse_is_refused_where_a_model_sees_it() -> None:
    tools = '"read files": { skill: Discovery.collect }'
    assert "E105" not in [one.code for one in problems_of(document("temperature: 0", tools))]
    (found,) = problems_of(document('tools: ["read files"]', tools))
    assert (found.code, found.path) == ("E105", "tools.read files")


def test_a_persona_that_the_document_does_not_use_may_name_tools_of_another_document() -> None:
    text = document("tools: [calculate]").replace(
        "personas:\n",
        "personas:\n    other: { prompts: { user: x }, tools: [elsewhere], handoffs: [far] }\n",
        1,
    )
    assert [one.code for one in problems_of(text) if one.code != "W520"] == []
    used = text.replace("{ prompts: { user: x }", "{ description: d, prompts: { user: x }")
    used = used.replace("tools: [calculate]\n", "tools: [calculate]\n      subagents: [other]\n")
    codes = [one.code for one in problems_of(used) if one.code != "W520"]
    assert codes == ["E204", "E201"]
