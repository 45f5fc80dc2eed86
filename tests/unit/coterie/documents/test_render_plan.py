"""A plan is shown as what will be done, by whom, and where it goes from there."""

import pytest
from pydantic import JsonValue, TypeAdapter

from coterie.dsl.evaluate.condition_text import condition_text
from coterie.dsl.model.conditions import Condition
from coterie.dsl.model.plan import Persona, Plan, Routing, Rule, Team
from coterie.dsl.model.steps import STEP_KINDS, Step
from coterie.rendering.plan_text import plan_text, step_lines
from coterie.text.durations import duration

STEPS: dict[str, tuple[JsonValue, str]] = {
    "agent": (
        {"agent_type": "generic_single_shot", "persona_key": "p", "requires_approval": "after"},
        "- x: agent p, scripted/demo, a person accepts its answer",
    ),
    "skill": ({"skill": "Discovery.collect"}, "- x: tool function Discovery.collect"),
    "tool": ({"tool": "search"}, "- x: tool search"),
    "loop": (
        {
            "iterate_on": "{{ input.list }}",
            "max_iterations": 3,
            "body": [{"kind": "fail", "name": "y", "error": "E", "message": "m"}],
        },
        "- x: loop over {{ input.list }}, at most 3 rounds\n    - y: fail with E",
    ),
    "branch": (
        {
            "branches": [
                {
                    "condition": {"expression": "{{ a }}"},
                    "steps": [{"kind": "return", "name": "y", "value": 1}],
                }
            ],
            "otherwise": [{"kind": "set", "name": "z", "values": {"v": 1}}],
        },
        "- x: branch\n    if {{ a }}\n      - y: return 1\n    otherwise\n      - z: sets v",
    ),
    "parallel": (
        {"branches": {"left": [{"kind": "team", "name": "y", "team": "t"}]}, "join": 1},
        "- x: parallel, 1 branch, until 1 succeeded\n    branch left\n      - y: runs t",
    ),
    "task_graph": (
        {
            "tasks": "{{ a }}",
            "task_variable": "t",
            "max_iterations": 9,
            "max_tasks": 5,
            "concurrency": 2,
            "task_retries": 1,
            "order": "critical_path",
            "body": [{"kind": "set", "name": "y", "values": {"v": 1}}],
            "on_failed_task": "stop",
        },
        "- x: task_graph over {{ a }}, at most 5 tasks, at most 9 attempts, 2 at once, "
        "critical path first, 1 more attempt of each task, after a failed task: stop\n"
        "    for each task\n      - y: sets v",
    ),
    "set": ({"values": {"a": 1, "b": 2}}, "- x: sets a, b"),
    "approval": (
        {"prompt": "?", "approvers": ["ann"], "deadline": 7200},
        "- x: approval by ann, within 2 h, else reject",
    ),
    "wait": ({"signal": "go", "deadline": 60}, "- x: wait for the signal go, within 1 min"),
    "reply": ({"value": "{{ a }}"}, "- x: reply {{ a }}"),
    "team": ({"team": "t"}, "- x: runs t"),
    "try": (
        {
            "steps": [{"kind": "set", "name": "y", "values": {"a": 1}}],
            "catch": [{"error": ["A", "B"], "steps": []}],
            "finally": [{"kind": "set", "name": "z", "values": {"b": 1}}],
        },
        "- x: try\n    - y: sets a\n    after A, B\n    finally\n      - z: sets b",
    ),
    "block": (
        {
            "steps": [{"kind": "set", "name": "y", "values": {"a": 1}}],
            "fail_when": {"outcome": "any_failure"},
        },
        "- x: block fails when any_failure\n    - y: sets a",
    ),
    "return": ({"value": {"a": 1}}, '- x: return {"a": 1}'),
    "fail": ({"error": "Bad", "message": "m"}, "- x: fail with Bad"),
}
CONDITIONS: dict[str, JsonValue] = {
    'a.status equals "FAIL"': {"task": "a", "output_field": "status", "value": "FAIL"},
    "context.x.y exists": {"context_field": "x.y", "operator": "exists"},
    "a is success": {"task": "a", "status": "success"},
    "all_success and (not a is failure or {{ b }})": {
        "and": [
            {"outcome": "all_success"},
            {"or": [{"not": {"task": "a", "status": "failure"}}, {"expression": "{{ b }}"}]},
        ]
    },
}

PERSONA = Persona(provider="scripted", model="demo", prompts={"user": "x"})


def plan(*teams: Team) -> Plan:
    return Plan(
        name="p", entry_team="t", teams={team.id: team for team in teams}, personas={"p": PERSONA}
    ).with_digest()


def step(value: JsonValue) -> Step:
    made: Step = TypeAdapter[Step](Step).validate_python(value)
    return made


@pytest.mark.parametrize("kind", STEP_KINDS)
def test_every_kind_of_step_is_reported_in_a_line(kind: str) -> None:
    fields, shown = STEPS[kind]
    assert isinstance(fields, dict)
    lines = step_lines([step({"kind": kind, "name": "x", **fields})], plan(), 1)
    assert "\n".join(lines) == f"  {shown}"


@pytest.mark.parametrize("message", CONDITIONS)
def test_a_condition_reads_as_a_person_says_it(message: str) -> None:
    condition: Condition = TypeAdapter[Condition](Condition).validate_python(CONDITIONS[message])
    assert condition_text(condition) == message


def test_the_plan_of_an_orchestrating_agent_stands_below_it() -> None:
    inner = step({"kind": "skill", "name": "read", "skill": "Discovery.collect"})
    persona = PERSONA.model_copy(update={"execution_plan": (inner,)})
    made = plan().model_copy(update={"personas": {"p": persona}})
    task = step(
        {
            "kind": "agent",
            "name": "x",
            "agent_type": "generic_orchestrating",
            "persona_key": "p",
            "when": {"expression": "{{ a }}"},
        }
    )
    assert list(step_lines([task], made, 1)) == [
        "  - x: agent p, plan of 1 step  when {{ a }}",
        "    - read: tool function Discovery.collect",
    ]


def test_routes_stand_in_their_order_with_limits_and_the_end() -> None:
    rules = (Rule(next_team="u", context_updates={"a": 1}), Rule(next_team=None))
    routing = Routing(rules=rules, ends_by_default=True)
    first = Team(id="t", name="First", steps=(), routing=routing, max_recursion_depth=2)
    text = plan_text(plan(first, Team(id="u", name="u", steps=())))
    assert "starts at t; at most 30 team visits, 5 of any one team; no progress: ignore" in text
    assert "t  First  (at most 2 visits)" in text
    assert "  1. -> u  always; sets a\n  2. -> the end  always\n  else -> the end\n\nu\n" in text


@pytest.mark.parametrize(
    ("seconds", "message"),
    [
        (0, "0 s"),
        (0.42, "0.4 s"),
        (9.96, "10 s"),
        (59.6, "1 min"),
        (90, "1 min 30 s"),
        (3600, "1 h"),
        (90061, "1 d 1 h"),
    ],
)
def test_durations_are_reported_in_two_parts_at_most(seconds: float, message: str) -> None:
    assert duration(seconds) == message
