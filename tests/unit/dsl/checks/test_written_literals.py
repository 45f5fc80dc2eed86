"""Each literal that can only fail in a run is refused before it, once."""

from collections.abc import Iterator

import pytest

from coterie.dsl.compile.compiler import SourceText, compile_sources
from coterie.dsl.errors import InvalidDocument, Problem
from coterie.dsl.evaluate.waits import RefusedWait, length_of_wait, moment_of_wait
from coterie.dsl.model.steps import STEP_KINDS, STEP_MODELS
from coterie.dsl.model.traversal.step_walk import FILLED_OF_CALL_APPROVALS
from tests.support.compiling import CAPABILITIES

NOW = 1_790_000_000.0
"""September 2026."""
_WAIT = "{name: rest, type: wait, duration: 1}"
_BODY = f"body: [{_WAIT}]"
_LOOP = f"type: loop, loop_variable: item, {_BODY}"
_GRAPH = f"type: task_graph, task_variable: task, {_BODY}"
_AGENT = "agent_type: generic_single_shot, persona_key: writer"
_FUNCTION = 'skill: Files.read, input: {path: "a.txt"}'
_BRANCHES = f"branches: {{a: [{_WAIT}]}}"

ANY = "any literal can be right"

BAD: dict[tuple[str, str], str | list[str]] = {
    ("agent", "persona_key"): [
        f"agent_type: generic_single_shot, persona_key: {x}" for x in ("5", "nobody")
    ],
    ("agent", "input"): ANY,
    ("agent", "conversation"): [f"{_AGENT}, conversation: {x}" for x in ("''", "x" * 201, "[a]")],
    ("agent", "max_turns"): [f"{_AGENT}, max_turns: {x}" for x in ("0", "1001", "many", "true")],
    ("agent", "requires_approval.prompt"): [
        f"{_AGENT}, requires_approval: {{prompt: [], deadline: 1d}}"
    ],
    ("agent", "requires_approval.show"): ANY,
    ("agent", "requires_approval.deadline"): [
        f"{_AGENT}, requires_approval: {{deadline: {x}}}" for x in ("0", "0s", "-1", "soon", "true")
    ],
    ("skill", "input"): ["skill: Files.read, input: 5", "skill: Files.read, input: {path: 5}"],
    ("skill", "requires_approval.prompt"): [
        f"{_FUNCTION}, requires_approval: {{prompt: [], deadline: 1d}}"
    ],
    ("skill", "requires_approval.show"): ANY,
    ("skill", "requires_approval.deadline"): [
        f"{_FUNCTION}, requires_approval: {{deadline: {x}}}"
        for x in ("0", "0s", "-1", "soon", "true")
    ],
    ("tool", "tool"): ["type: tool, tool: nothing", "type: tool, tool: 5"],
    ("tool", "arguments"): [
        f"type: tool, tool: find, arguments: {x}" for x in ("abc", "5", "[1]", "{query: 5}")
    ],
    ("tool", "call_retries"): [
        f"type: tool, tool: find, arguments: {{query: a}}, call_retries: {x}"
        for x in ("-1", "101", "abc", "true", "1.5")
    ],
    ("loop", "iterate_on"): [f"{_LOOP}, iterate_on: {x}" for x in ("5", "abc", "{a: 1}", "true")],
    ("loop", "max_iterations"): [
        f"{_LOOP}, iterate_on: [1], max_iterations: {x}" for x in ("0", "-1", "abc", "true", "1.5")
    ],
    ("loop", "concurrency"): [
        f"{_LOOP}, iterate_on: [1], concurrency: {x}" for x in ("0", "1001", "abc", "true")
    ],
    ("parallel", "only"): [
        f"type: parallel, {_BRANCHES}, only: {x}" for x in ("[]", "5", "b", "[b]", "[5]")
    ],
    ("parallel", "join"): [
        f"type: parallel, {_BRANCHES}, join: {x}" for x in ("0", "2", "most", "true", "[1]", "1.5")
    ],
    ("parallel", "score"): [
        f"type: parallel, join: best, branches: {{a: {{steps: [{_WAIT}], score: {x}}}}}"
        for x in ("high", "true", "[1]")
    ],
    ("task_graph", "tasks"): [
        f"{_GRAPH}, max_tasks: 9, tasks: {x}"
        for x in ("5", "abc", "{}", "[5]", "[{id: a, dependencies: [b]}]")
    ],
    ("task_graph", "chosen"): [
        f"{_GRAPH}, tasks: [{{id: a}}], select: [{_WAIT.replace('rest', 'pick')}], chosen: {x}"
        for x in ("b", "[]")
    ],
    ("task_graph", "add"): [
        f"{_GRAPH}, max_tasks: 9, tasks: [{{id: a}}], add: {x}" for x in ("5", "abc", "{}")
    ],
    **{
        ("task_graph", key): [
            f"{_GRAPH}, tasks: [{{id: a}}], {key}: {x}" for x in ("-1", "abc", "true")
        ]
        for key in ("max_iterations", "concurrency", "max_tasks", "task_retries")
    },
    ("set", "values"): ["type: set, values: 5", "type: set, values: [1]"],
    ("approval", "prompt"): ["type: approval, deadline: 1d, prompt: [a]"],
    ("approval", "show"): ANY,
    ("approval", "deadline"): [
        f"type: approval, prompt: Well?, deadline: {x}"
        for x in ("0", "0s", "-1", "soon", "true", "90000d")
    ],
    ("wait", "duration"): [
        f"type: wait, duration: {x}"
        for x in ("90 days", "soon", "-5", "40000d", "99999999999999", "true", "[1]", "''")
    ],
    ("wait", "time"): [
        f"type: wait, time: {x}"
        for x in (
            "noon",
            "2026-12-01T10:00 Europe/Berlin",
            "2026-12-01T24:00:00",
            "2026-12-01t10:00:00z",
            "2026-12-01T10:00:00z",
            "2026-13-01",
            "2026-12-01T10",
            "2026-W49-2",
            "20261201T100000",
            "2026-12-01T10:00+0200",
            "2200-01-01T00:00",
            "0001-01-01T00:00+10:00",
            "1790000000",
            "2026",
            "true",
            "''",
        )
    ],
    ("wait", "deadline"): [
        f"type: wait, signal: go, deadline: {x}" for x in ("-1", "soon", "true")
    ],
    ("reply", "value"): ANY,
    ("team", "input"): ["type: team, team: other, input: 5"],
    ("return", "value"): ANY,
    ("fail", "message"): ["type: fail, message: [a]"],
    **{
        (kind, key): [f"{step}, {value}" for value in values]
        for kind, step in {
            "agent": _AGENT,
            "skill": _FUNCTION,
            "tool": "type: tool, tool: find, arguments: {query: a}",
            "loop": f"{_LOOP}, iterate_on: [1]",
            "branch": f"type: branch, branches: [{{condition: all_success, steps: [{_WAIT}]}}]",
            "parallel": f"type: parallel, {_BRANCHES}",
            "task_graph": f"{_GRAPH}, tasks: [{{id: a}}]",
            "set": "type: set, values: {noted: 1}, fail_when: all_success",
            "approval": "type: approval, prompt: Well?, deadline: 1d",
            "wait": "type: wait, signal: go",
            "reply": "type: reply, value: 1",
            "team": "type: team, team: other",
            "try": f"type: try, steps: [{_WAIT}], catch: [{{error: '*'}}]",
            "block": f"type: block, steps: [{_WAIT}]",
            "return": "type: return, value: 1",
            "fail": "type: fail, message: No.",
        }.items()
        for key, values in {
            "timeout": ["timeout: 0", "timeout: soon", "timeout: true"],
            "retry.retries": [
                "retry: {retries: -1}",
                "retry: {retries: abc}",
                "retry: {retries: true}",
            ],
        }.items()
    },
}
"""`{(kind, a key that a run fills or counts with): steps whose literal only fails}`."""

CASES = [
    pytest.param(key, step, id=f"{kind} {step.rpartition(', ')[2]} {number}")
    for (kind, key), steps in BAD.items()
    if not isinstance(steps, str)
    for number, step in enumerate(steps)
]


def document(step: str) -> str:
    return f"""
llm_config:
  default_provider: scripted
  default_model: demo
  personas:
    writer: {{prompts: {{user: Write.}}}}
    planner: {{execution_plan: [{{name: it, {step}}}]}}
    asker: {{prompts: {{user: Write.}}, tools: [find]}}
tools: {{find: {{skill: Retriever.search}}}}
orchestration:
  entry_team: main
  teams:
    main:
      tasks:
        - {{name: first, type: wait, message: true}}
        - {{name: plan, agent_type: generic_orchestrating, persona_key: planner}}
        - {{name: ask, agent_type: generic_tool_calling, persona_key: asker}}
        - {{name: last, type: reply, value: 1}}
    other: {{tasks: [{_WAIT}]}}
"""


def problems(step: str) -> tuple[Problem, ...]:
    """The problems of the step, but that a plan never replies."""
    known = CAPABILITIES.model_copy(update={"now": NOW})
    try:
        found = compile_sources([SourceText("1.yml", document(step))], known, name="test").warnings
    except InvalidDocument as error:
        found = error.problems
    return tuple(one for one in found if one.code != "E507" and "planner" in one.path)


def filled_keys() -> Iterator[tuple[str, str]]:
    """Every key whose value a run fills, or counts with."""
    for kind in STEP_KINDS:
        for model in STEP_MODELS[kind]:
            yield from ((kind, key) for key in model.filled)
            yield from ((kind, bound.name) for bound in model.bounds)
    for kind in ("agent", "skill"):
        yield from ((kind, f"requires_approval.{key}") for key in FILLED_OF_CALL_APPROVALS)
    yield "parallel", "score"


def test_every_key_that_a_run_fills_is_tried() -> None:
    assert {*BAD} == {*filled_keys()}


@pytest.mark.parametrize(("key", "step"), CASES)
def test_a_literal_that_can_only_fail_is_refused_once_and_at_its_key(key: str, step: str) -> None:
    found = problems(step)
    assert [one.code for one in found if one.severity == "error"] != [], found
    last = key.rpartition(".")[2]
    assert all(f".{last}" in one.path for one in found), found
    assert len(found) == 1, found


@pytest.mark.parametrize("written", ["2025-01-31", "2026-09-21T14:13:20Z", "2020-01-01 09:00"])
def test_a_wait_for_a_time_that_has_passed_is_warned_of(written: str) -> None:
    (one,) = problems(f"type: wait, time: {written}")
    assert (one.code, one.path.rpartition(".")[2]) == ("W530", "time")


@pytest.mark.parametrize(
    "written",
    ["2026-12-01", "2026-12-01T10:00", "2026-12-01T10:00:00.5Z", "2026-12-01 10:00+02:00"],
)
def test_a_time_that_a_run_takes_has_no_problem(written: str) -> None:
    assert problems(f"type: wait, time: {written}") == ()


@pytest.mark.parametrize("given", [0, 90, 1.5, "90s", "1h 30m"])
def test_a_duration_that_a_run_takes_has_no_problem(given: float | str) -> None:
    assert problems(f"type: wait, duration: {given}") == ()
    assert not isinstance(length_of_wait(given), RefusedWait)


def test_a_time_far_away_is_refused_only_where_the_present_is_known() -> None:
    assert isinstance(moment_of_wait("2200-01-01", NOW), RefusedWait)
    assert not isinstance(moment_of_wait("2200-01-01", None), RefusedWait)
