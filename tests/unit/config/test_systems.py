"""The systems that ship as teams: short to read, with the parts that their users know by name."""

from pathlib import Path

import pytest
import yaml

from coterie.dsl.json_schema.schema_checker import mismatches
from coterie.dsl.model.decision_terms import call_approval
from coterie.dsl.model.steps import ParallelStep, ToolStep
from coterie.dsl.model.template_bound import TemplateBound
from coterie.dsl.model.tools.tool_contract import OneCallTool
from coterie.dsl.source.yaml_reader import read
from coterie.dsl.templates.template_filling import fill
from coterie.dsl.values import JsonValue
from coterie.graph.picture import picture
from tests.support.documents.shipped import TEAMS, all_steps, compiled, team_file

MAX_LINES = {"agent_loop": 88, "coordinator": 139, "tool_router": 139}
"""Of a plan, without its comments and its prompts."""
MAX_WIDTH = 150
MAX_NODES = 15
TEMPLATES = {
    "debug_bug": (
        "Debug Bug",
        "Reproduce the bug; Read relevant code files; Identify root cause; Propose fix; "
        "Implement fix; Test fix; Commit changes",
    ),
    "implement_feature": (
        "Implement Feature",
        "Understand requirements; Design architecture; Identify files to modify; "
        "Implement core functionality; Add error handling; Write tests; Update documentation; "
        "Commit changes",
    ),
    "refactor_code": (
        "Refactor Code",
        "Analyze current code; Identify improvement opportunities; Plan refactoring steps; "
        "Execute refactoring; Run tests to verify behavior; Commit changes",
    ),
}
EVENTS = {
    "guardrail": "guardrail",
    "out_of_scope": "out_of_scope",
    "router": "routing",
    "executor": "executing",
    "grade_documents": "grading",
    "generate": "generation",
}
PROFILES: dict[str, JsonValue] = {
    "conservative": {
        "steps": 5,
        "retries": 2,
        "rewrites": 1,
        "branches": ["tool"],
        "join": "fallback",
    },
    "exploratory": {
        "steps": 15,
        "retries": 3,
        "rewrites": 3,
        "branches": ["tool", "rag", "web"],
        "join": "best",
    },
    "fallback": {
        "steps": 10,
        "retries": 4,
        "rewrites": 2,
        "branches": ["tool", "rag", "web"],
        "join": "fallback",
    },
}
PATHS = {
    "query": {"minLength": 3, "maxLength": 5000},
    "perceptions": {},
    "plan_versions": {},
    "retrieval": {},
    "tool_log": {},
}
KEPT = {"memory.short_term": 100, "memory.banned_tools": 50, "memory.successful_tools": 100}
HEURISTICS = {
    "perception": {"entities.maxItems": 50, "sub_goals.maxItems": 10, "confidence.maximum": 1},
    "retriever": {"summary.minLength": 1, "open_questions.maxItems": 10},
    "decision": {"steps.maxItems": 20, "steps.items.properties.description.minLength": 5},
    "critic": {"quality_score.maximum": 1, "hallucination_risk.maximum": 1, "issues.maxItems": 20},
}
FIELDS = {
    "coordinator/decision": ("steps", "tool arguments description expected_outcome"),
    "coordinator/critic": (
        "is_acceptable quality_score hallucination_risk issues rewrite_suggestion "
        "requires_human_input",
    ),
    "agent_loop/planner": (
        "tasks",
        "id description dependencies required_tools estimated_complexity fallback",
    ),
    "agent_loop/actor": ("response tools_used files_changed error",),
}
"""What each must say: the keys on the way to a list's items, then the required fields."""
ASKING = {
    "file_edit": "Files.edit",
    "file_change": "AssetManager.process_action",
    "file_write": "Files.write",
    "shell_exec": "CommandRunner.run",
    "git_commit": "Git.commit",
}


@pytest.mark.parametrize("name", MAX_LINES)
def test_a_plan_is_said_in_few_lines(name: str) -> None:
    lines = team_file(name).read_text().splitlines()
    assert sum(not line.startswith("#") for line in lines) <= MAX_LINES[name]
    assert max(map(len, lines)) <= MAX_WIDTH


@pytest.mark.parametrize("name", MAX_LINES)
def test_the_picture_of_a_plan_has_few_nodes(name: str) -> None:
    start_and_end = 2
    boxes = picture(compiled(name).compiled.plan).boxes
    assert len(boxes) + start_and_end <= MAX_NODES


@pytest.mark.parametrize("name", TEMPLATES)
def test_a_workflow_has_its_name_and_its_steps(name: str) -> None:
    templates = compiled("agent_loop").compiled.plan.settings["templates"]
    assert isinstance(templates, dict)
    template = templates[name]
    assert isinstance(template, dict)
    assert isinstance(template["steps"], list)
    assert (template["name"], "; ".join(map(str, template["steps"]))) == TEMPLATES[name]


def test_every_workflow_stands_in_a_file_of_its_name() -> None:
    files = sorted((team_file("agent_loop").parent / "agent_loop" / "workflows").glob("*.yml"))
    place = ["orchestration", "settings", "templates"]
    names = [list(read(file.read_text(), file.name).find(place).entries()) for file in files]
    assert names == [[file.stem] for file in files]
    templates = compiled("agent_loop").compiled.plan.settings["templates"]
    assert isinstance(templates, dict)
    assert list(templates) == [file.stem for file in files]


def test_what_the_agent_does_to_a_project_asks_a_person_first() -> None:
    tools = compiled("agent_loop").compiled.plan.tools
    terms = {key: call_approval(tool.requires_approval) for key, tool in tools.items()}
    assert {key: tools[key].made_of for key, asked in terms.items() if asked} == ASKING
    assert {asked.at for asked in terms.values() if asked} == {"before"}


def test_a_project_adds_a_workflow_of_its_own(tmp_path: Path) -> None:
    own = "{name: Upgrade, description: Upgrade a dependency, needs: [package], steps: [Raise it]}"
    (tmp_path / "coterie.yml").write_text(
        f"orchestration: {{settings: {{templates: {{upgrade: {own}}}}}}}"
    )
    templates = compiled("agent_loop", tmp_path).compiled.plan.settings["templates"]
    assert isinstance(templates, dict)
    assert {"upgrade", "debug_bug"} <= templates.keys()


def test_the_events_of_the_tool_router_have_their_names() -> None:
    teams = compiled("tool_router").compiled.plan.teams
    assert {key: teams[key].event for key in EVENTS} == EVENTS


def test_a_tool_is_offered_to_the_router_without_a_change_of_the_plan(tmp_path: Path) -> None:
    (tmp_path / "coterie.yml").write_text(
        "tools: {calculate: {skill: Calculator.evaluate}}\n"
        "llm_config: {personas: {router: {tools: [retrieve_chunks, web_search, calculate]}}}\n"
    )
    plan = compiled("tool_router", tmp_path).compiled.plan
    assert plan.personas["router"].tools == ("retrieve_chunks", "web_search", "calculate")
    assert plan.tools["calculate"].made_of == "Calculator.evaluate"


def test_a_search_of_the_web_asks_a_person_because_private_passages_may_leave() -> None:
    tools = compiled("tool_router").compiled.plan.tools
    asked = call_approval(tools["web_search"].requires_approval)
    assert asked is not None
    assert (asked.at, asked.when, asked.on_timeout) == ("before", None, "reject")
    assert tools["retrieve_chunks"].fixed == {"top_k": 3}


@pytest.mark.parametrize("name", PROFILES)
def test_a_profile_of_the_coordinator_has_its_limits(name: str) -> None:
    profiles = compiled("coordinator").compiled.plan.settings["profiles"]
    assert isinstance(profiles, dict)
    assert profiles[name] == PROFILES[name]


def test_the_blackboard_of_the_coordinator_is_declared_with_its_limits() -> None:
    context = compiled("coordinator").compiled.plan.context
    for path, limits in PATHS.items():
        assert limits.items() <= context[path].schema_.items()
    assert {path: context[path].keep_last for path in KEPT} == KEPT


@pytest.mark.parametrize("name", HEURISTICS)
def test_what_an_agent_of_the_coordinator_says_is_bounded(name: str) -> None:
    schema = compiled("coordinator").compiled.plan.personas[name].output_schema
    assert schema is not None
    properties = schema["properties"]
    assert isinstance(properties, dict)
    for path, limit in HEURISTICS[name].items():
        found: JsonValue = properties
        for key in path.split("."):
            assert isinstance(found, dict)
            found = found[key]
        assert found == limit


@pytest.mark.parametrize("name", FIELDS)
def test_what_an_agent_of_a_system_says_has_these_fields(name: str) -> None:
    team, persona = name.split("/")
    schema = compiled(team).compiled.plan.personas[persona].output_schema
    for key in FIELDS[name][:-1]:
        assert isinstance(schema, dict)
        below = schema["properties"]
        assert isinstance(below, dict)
        of_key = below[key]
        assert isinstance(of_key, dict)
        items = of_key["items"]
        assert isinstance(items, dict)
        schema = items
    assert isinstance(schema, dict)
    required = schema["required"]
    assert isinstance(required, list)
    assert " ".join(map(str, required)) == FIELDS[name][-1]


def test_a_tool_that_plans_of_the_coordinator_name_has_5_seconds_and_3_attempts() -> None:
    plan = compiled("coordinator").compiled.plan
    offered = plan.settings["tools"]
    assert isinstance(offered, dict)
    named = {key: plan.tools[key] for key in [*offered, "web_search"]}
    terms = {key: tool.terms for key, tool in named.items() if isinstance(tool, OneCallTool)}
    web = terms.pop("web_search")
    assert {one.timeout for one in terms.values()} == {3, 5}
    assert {one.retries for one in terms.values()} == {2}
    assert web.timeout == 30


def test_only_the_calls_of_the_coordinator_retry_so_that_retries_do_not_multiply() -> None:
    """Nothing around a call retries, and each call of a strategy has the limit of the profile."""
    plan = compiled("coordinator").compiled.plan
    steps = list(all_steps(plan.teams["coordinate"].steps, plan))
    [act] = [step for step in steps if isinstance(step, ParallelStep) and step.name == "act"]
    assert act.retry is None
    called = [one for branch in act.ranked_branches.values() for one in branch.steps]
    bound = TemplateBound(value="{{ retries }}", maximum=3)
    for one in called:
        assert isinstance(one, ToolStep)
        assert (one.retry, one.call_retries) == (None, bound), one.name


def test_a_project_adds_a_profile_of_its_own(tmp_path: Path) -> None:
    own = "{steps: 3, retries: 0, rewrites: 0, branches: [tool, rag], join: best}"
    (tmp_path / "coterie.yml").write_text(
        f"orchestration: {{settings: {{profiles: {{quick: {own}}}}}}}"
    )
    profiles = compiled("coordinator", tmp_path).compiled.plan.settings["profiles"]
    assert isinstance(profiles, dict)
    assert {"quick", *PROFILES} == profiles.keys()


FIFTY: JsonValue = [{"n": number} for number in range(50)]
BOUNDED: dict[str, tuple[str, str, dict[str, JsonValue], int]] = {
    "search query": (
        "perceived",
        "values.search_query",
        {"perception": {"intent": "why " * 200, "entities": ["pens"]}},
        500,
    ),
    "retrieved items": (
        "bundle",
        "values.items",
        {
            "tasks": {
                "from_memory": {"data": {"memories": FIFTY}},
                "from_vector": {"data": {"passages": FIFTY}},
                "from_files": {"data": {"matches": FIFTY}},
                "from_web": {"data": {"results": FIFTY}},
            }
        },
        20,
    ),
    "plans": ("versions", "max_iterations", {"profile": {"rewrites": 9}}, 6),
}
"""A step of the coordinator, its field, what leads there, and the most that it gives."""


@pytest.mark.parametrize("name", BOUNDED)
def test_what_the_coordinator_passes_on_is_bounded(name: str) -> None:
    task, path, facts, limit = BOUNDED[name]
    plan = compiled("coordinator").compiled.plan
    step = next(
        one
        for team in plan.teams.values()
        for one in all_steps(team.steps, plan)
        if one.name == task
    )
    value: JsonValue = step.model_dump(mode="json", by_alias=True)
    for key in path.split("."):
        assert isinstance(value, dict)
        value = value[key]
    if isinstance(value, dict):
        value = value["value"]
    filled = fill(value, facts)
    assert (filled if isinstance(filled, int) else len(filled)) == limit  # type: ignore[arg-type]


def test_the_agent_loop_keeps_what_each_action_did() -> None:
    plan = compiled("agent_loop").compiled.plan
    steps = {one.name: one for team in plan.teams.values() for one in all_steps(team.steps, plan)}
    kept = steps["observe"].context_updates["action_history"]
    assert isinstance(kept, dict)
    names = {"task": {"id": "fix"}, "tasks": {"act": {"data": {"response": "done"}}}}
    added = {"task_id": "fix", "action": {"response": "done"}}
    assert fill(kept["append"], names) == added


@pytest.mark.parametrize(
    ("team", "streamed"),
    [("tool_router", {"generator"}), ("agent_loop", {"reasoner", "reflector"})],
)
def test_what_people_read_is_shown_while_it_is_written(team: str, streamed: set[str]) -> None:
    """The reply of a chat, and the thoughts of the agentic loop."""
    personas = compiled(team).compiled.plan.personas
    assert {name.partition("@")[0] for name, one in personas.items() if one.stream} == streamed


@pytest.mark.parametrize("team", TEAMS)
@pytest.mark.parametrize("blank", ["   ", "\u200b\u2060\ufeff\u00a0"])
def test_no_team_takes_a_required_text_in_which_nothing_is_visible(team: str, blank: str) -> None:
    declared = compiled(team).compiled.plan.context
    texts = {
        path: one.schema_
        for path, one in (declared or {}).items()
        if one.required and one.schema_.get("type") == "string" and "enum" not in one.schema_
    }
    assert [path for path, schema in texts.items() if not mismatches(blank, schema)] == []


def test_a_suite_wants_four_of_five_goals_of_the_agent_to_be_reached() -> None:
    suite = yaml.safe_load(Path("evals/packages/suites/agent_loop_packages.yml").read_text())
    assert (suite["at_least"], len(suite["cases"]) > 1) == (0.8, True)
