"""Task graphs and parallel steps: what they lack, and what contradicts the rest of the step."""

import pytest

from tests.support.compiling import problems_of
from tests.support.one_team import agent, document

NOTE = "{name: note, type: set, values: {x: 1}}"
AB = "tasks: [{id: a}, {id: b, dependencies: [a]}]"
OPEN = "tasks: '{{ context.tasks }}'"


def found(keys: str) -> list[tuple[str, str]]:
    """Each refusal with its place in the step."""
    step = f"- {{name: g, type: task_graph, {keys}, task_variable: task, body: [{agent('do')}]}}"
    errors = [one for one in problems_of(document(step)) if one.severity == "error"]
    return [(one.code, one.path.partition(".tasks[0]")[2].lstrip(".")) for one in errors]


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        (AB, []),
        (OPEN, [("E102", "")]),
        (f"{OPEN}, max_tasks: 3", []),
        (f"{OPEN}, max_iterations: 3", []),
        (f"{AB}, add: '{{{{ context.more }}}}'", [("E102", "add")]),
        (f"{AB}, add: '{{{{ context.more }}}}', max_tasks: 3", []),
        (f"{AB}, chosen: a", [("E107", "chosen")]),
        (f"{AB}, select: [{NOTE}]", [("E102", "select")]),
        (f"{AB}, select: [{NOTE}], chosen: a", []),
        (f"{AB}, select: [{NOTE}], chosen: '{{{{ context.next }}}}'", []),
        (f"{AB}, select: [{NOTE}], chosen: c", [("E206", "chosen")]),
        (f"{AB}, on_failed_task: []", [("E106", "on_failed_task")]),
        (f"{AB}, on_failed_task: [{NOTE}]", []),
        (f"{AB}, max_tasks: 2", []),
        (f"{AB}, max_tasks: 1", [("E106", "tasks")]),
        # what only the run knows is checked there
        ("tasks: [{id: a}, {id: a}]", [("E105", "tasks")]),
        ("tasks: [{id: a}, {id: a}, '{{ context.c }}']", []),
        ("tasks: [{id: a}, {id: a}, {id: '{{ context.c }}'}]", []),
        ("tasks: [{id: a}, {id: a}, {id: c, dependencies: ['{{ context.c }}']}]", []),
        ("tasks: [{id: a}, {id: a}, {id: c, dependencies: '{{ context.c }}'}]", []),
        ("tasks: [{id: a}, {id: a}, {id: c, title: '{{ context.c }}'}]", [("E105", "tasks")]),
        ("tasks: [{description: no id}]", []),
    ],
)
def test_a_graph_is_bounded_and_its_written_tasks_are_sound(
    keys: str, expected: list[tuple[str, str]]
) -> None:
    assert found(keys) == expected


BRANCHES = f"branches: {{left: [{agent('l')}], right: [{agent('r')}]}}"
SCORED = f"branches: {{left: {{steps: [{agent('l')}], score: 1}}, right: [{agent('r')}]}}"


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        (f"{BRANCHES}, only: [left]", []),
        (f"{BRANCHES}, only: [lft]", [("E105", "only[0]", "did you mean 'left'?")]),
        (f"{BRANCHES}, only: [left, centre]", [("E105", "only[1]", None)]),
        (f"{BRANCHES}, only: [left, 1]", [("E103", "only[1]", None)]),
        (f"{BRANCHES}, only: ['{{{{ context.one }}}}']", []),
        (f"{BRANCHES}, only: left", [("E103", "only", None)]),
        (f"{BRANCHES}, merge: {{unset: replace}}", [("E105", "merge.unset", None)]),
        (f"{BRANCHES}, merge: {{context.n: replace}}", [("E105", "merge.context.n", None)]),
        (f"{SCORED}, join: best", []),
        (f"{SCORED}, join: '{{{{ context.join }}}}'", []),
        (f"{SCORED}, join: all", [("E107", "branches.left.score", None)]),
        (f"{BRANCHES}, join: any, losers: finish", []),
    ],
)
def test_a_parallel_step_names_its_branches_and_what_they_set(
    keys: str, expected: list[tuple[str, str, str | None]]
) -> None:
    text = document(f"- {{name: p, type: parallel, {keys}}}")
    errors = [one for one in problems_of(text) if one.severity == "error"]
    assert [(one.code, one.path.partition(".tasks[0].")[2]) for one in errors] == [
        one[:2] for one in expected
    ]
    for one, (_, _, fix) in zip(errors, expected, strict=True):
        assert fix is None or one.fix == fix
        assert fix is not None or "did you mean" not in one.fix
