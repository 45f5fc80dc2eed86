"""What the data of steps can have that call nothing: a wrong path is found before the run."""

import pytest

from tests.support.compiling import plan_of, problems_of
from tests.support.one_team import agent, document

PARALLEL = f"""
- name: both
  type: parallel
  join: JOIN
  branches:
    left: [{agent("a")}]
    right: [{agent("b")}]
"""
STEPS = {
    "all": PARALLEL.replace("JOIN", "all"),
    "best": PARALLEL.replace("JOIN", "best"),
    "graph": f"""
- name: both
  type: task_graph
  tasks: [{{id: a}}]
  task_variable: task
  body: [{agent("a")}]
""",
    "loop": f"- {{name: both, iterate_on: [1], loop_variable: i, body: [{agent('a')}]}}",
    "branch": f"""
- name: both
  type: branch
  branches: [{{condition: {{context_field: x, operator: exists}}, steps: [{agent("a")}]}}]
""",
    "approval": "- {name: both, type: approval, prompt: Well?, deadline: 1h}",
    "editable": "- {name: both, type: approval, prompt: Well?, deadline: 1h, editable: true}",
    "wait": "- {name: both, type: wait, duration: 1s}",
    "signal": "- {name: both, type: wait, signal: go, deadline: 1h}",
    "team": "- {name: both, team: other}",
    "block": f"""
- name: both
  type: block
  steps: [{agent("a")}, {{name: d, type: wait, duration: 1s}}]
""",
}
OTHER = "\nother: {tasks: [{name: s, type: set, values: {x: 1}}]OUTPUT}\n"


def text(kind: str, path: str, output: str = "") -> str:
    read = f'- {{name: use, type: set, values: {{found: "{{{{ tasks.both.data.{path} }}}}"}}}}'
    tasks = f"{STEPS[kind].strip()}\n{read}\n"
    return document(tasks, OTHER.replace("OUTPUT", output) if kind == "team" else "")


@pytest.mark.parametrize(
    ("kind", "path", "meant"),
    [
        ("all", "centre", ""),
        ("all", "winner", ""),
        ("all", "left.stauts", "status"),
        ("all", "left.error.typ", "type"),
        ("best", "winnr", "winner"),
        ("best", "right.scor", "score"),
        ("graph", "count", "counts"),
        ("graph", "counts.complete", "completed"),
        ("graph", "tasks[0].statu", "status"),
        ("loop", "result", "results"),
        ("branch", "chose", "chosen"),
        ("approval", "decisions", "decision"),
        ("approval", "payload", ""),
        ("wait", "untill", "until"),
        ("team", "contxt", "context"),
        ("block", "untill", "until"),
    ],
)
def test_a_path_that_the_kind_of_a_step_never_has_is_reported(
    kind: str, path: str, meant: str
) -> None:
    (problem,) = problems_of(text(kind, path))
    assert problem.code == "E210"
    assert problem.fix == (f"did you mean {meant!r}?" if meant else problem.fix)


@pytest.mark.parametrize(
    ("kind", "path"),
    [
        ("all", "left.data.text"),
        ("best", "winner"),
        ("best", "result.text"),
        ("best", "left.score"),
        ("graph", "tasks[0].data.anything"),
        ("graph", "dropped"),
        ("branch", "data.anything"),
        ("approval", "by"),
        ("editable", "payload.anything"),
        ("signal", "anything"),
        ("team", "context.anything.at_all"),
    ],
)
def test_a_path_that_it_may_have_is_not_reported(kind: str, path: str) -> None:
    plan_of(text(kind, path))


def test_the_output_that_a_team_declares_is_the_data_of_the_step_that_runs_it() -> None:
    output = ', output: {summary: "{{ context.text }}", parts: {first: 1}}'
    plan_of(text("team", "summary", output))
    plan_of(text("team", "parts.first", output))
    for path in ("context.x", "parts.second"):
        (problem,) = problems_of(text("team", path, output))
        assert problem.code == "E210"
    plan_of(text("team", "anything.at_all", ', output: "{{ context }}"'))


def test_the_output_that_a_team_declares_is_checked_where_it_is_written() -> None:
    (problem,) = problems_of(text("team", "n", ', output: {n: "{{ tasks.nosuch.data }}"}'))
    assert (problem.code, problem.path) == ("E207", "orchestration.teams.other.output.n")


def test_a_decision_that_is_none_is_a_condition_that_never_holds() -> None:
    tasks = f"""{STEPS["approval"]}
- name: after
  type: set
  values: {{x: 1}}
  when: {{task: both, output_field: decision, operator: equals, value: approve}}
"""
    (problem,) = problems_of(document(tasks))
    assert problem.code == "E404"
