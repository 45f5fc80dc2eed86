"""The tasks of a run's task graphs, as a tree in the drawings: status, reason, dependencies."""

from xml.etree import ElementTree

import pytest

from coterie.dsl.model.outcomes import Failure
from coterie.dsl.task_graph.graph_tasks import GRAPH_TASK_STATUSES, GraphTask
from coterie.dsl.task_graph.task_causes import GraphTaskBlocked, GraphTaskEnded, GraphTaskStarted
from coterie.graph.drawing.svg import svg_of
from coterie.graph.mermaid import mermaid_of
from coterie.graph.picture import picture
from coterie.graph.taken_path import Walk
from coterie.runs.task_trees import TaskNode, TaskTree, task_tree
from coterie.workflows.core.progress.progress_kinds import TaskGraphProgress
from tests.support.one_team import work

PLAN = work(
    "- {name: graph, type: task_graph, tasks: [{id: a}], task_variable: t, "
    "body: [{name: s, type: set, values: {x: 1}}]}"
)


def task(id: str, *before: str) -> GraphTask:
    return GraphTask({"id": id, "dependencies": [*before]})


def progress() -> TaskGraphProgress:
    """Each status once: `b` and `c` wait for `a`, `d` for both, `f` for the failed `e`."""
    tasks = [
        task("a"),
        task("b", "a"),
        task("c", "a"),
        task("d", "b", "c"),
        task("e"),
        task("f", "e"),
    ]
    a, b, _, _, e, f = tasks
    a.status, a.cause = "completed", GraphTaskEnded("task_completed", "a")
    b.status, b.cause = "in_progress", GraphTaskStarted("task_next", "b", 2)
    e.status, e.cause = (
        "failed",
        GraphTaskEnded("task_failed", "e", 1, Failure("Bad", "<no> & way")),
    )
    f.status, f.cause = "blocked", GraphTaskBlocked("task_blocked", "f", "e", "e")
    return TaskGraphProgress(tasks=tasks)


def tree(*, over: bool = False) -> TaskTree:
    return task_tree("work/graph", progress(), over=over)


def test_a_tree_has_every_task_with_its_status_and_why() -> None:
    assert [(node.id, node.status, node.because) for node in tree().nodes.values()] == [
        ("a", "completed", "'a' succeeded"),
        ("b", "in_progress", "'b' is the first of 2 available tasks"),
        ("c", "pending", "'c' is available"),
        ("d", "pending", "'d' waits for 'b', 'c'"),
        ("e", "failed", "'e' failed: Bad: <no> & way"),
        ("f", "blocked", "'f' depends on 'e', which failed"),
    ]
    assert tree().headline == (
        "work/graph: 1 of 6 tasks completed, 2 pending, 1 in progress, 1 failed, 1 blocked"
    )


def test_a_task_that_an_ended_graph_left_ready_says_that_the_attempts_are_used_up() -> None:
    reasons = {node.id: node.because for node in tree(over=True).nodes.values()}
    assert reasons["c"] != "'c' is available"
    assert "max_iterations" in reasons["c"]


def test_a_task_stands_below_the_latest_of_its_dependencies_and_names_the_others() -> None:
    assert [(row.node.id, row.depth, row.parent, row.also_after) for row in tree().rows()] == [
        ("a", 0, None, ()),
        ("b", 1, "a", ()),
        ("c", 1, "a", ()),
        ("d", 2, "c", ("b",)),
        ("e", 0, None, ()),
        ("f", 1, "e", ()),
    ]


def test_tasks_written_before_what_they_depend_on_are_in_the_tree_once() -> None:
    backwards = TaskGraphProgress(tasks=[task("c", "b"), task("b", "a"), task("a")])
    rows = list(task_tree("work/graph", backwards, over=False).rows())
    assert [row.node.id for row in rows] == ["a", "b", "c"]
    assert [row.depth for row in rows] == [0, 1, 2]


def test_a_large_tree_shows_what_runs_and_what_failed_and_counts_the_rest() -> None:
    tasks = [task(f"t{number}") for number in range(100)]
    for one in tasks:
        one.status, one.cause = "completed", GraphTaskEnded("task_completed", one.id)
    tasks[99].status, tasks[98].status = "in_progress", "failed"
    shown = task_tree("work/graph", TaskGraphProgress(tasks=tasks), over=False)
    assert (len(shown.nodes), shown.left_out.total()) == (60, 40)
    assert list(shown.nodes)[-2:] == ["t98", "t99"]
    assert shown.headline.endswith(
        "98 of 100 tasks completed, 1 in progress, 1 failed; 40 not shown"
    )


def test_the_picture_of_a_run_draws_each_task_with_its_status_and_reason() -> None:
    svg = ElementTree.fromstring(svg_of(picture(PLAN), Walk("r1", "running", trees=(tree(),))))
    space = "{http://www.w3.org/2000/svg}"
    titles = [one.text for one in svg.iter(f"{space}title")]
    assert "e: 'e' failed: Bad: <no> & way" in titles
    texts = [one.text for one in svg.iter(f"{space}text")]
    for shown in ("in progress", "blocked", "'d' waits for 'b', 'c'; also after b"):
        assert shown in texts
    assert tree().headline in texts


def test_mermaid_draws_each_dependency_as_an_arrow_and_escapes_what_tasks_say() -> None:
    text = mermaid_of(picture(PLAN), Walk("r1", "running", trees=(tree(),)))
    assert "tasks0_4[\"✗ <b>e</b> · failed<br/>'e' failed: Bad: #lt;no#gt; #amp; way\"]" in text
    arrows = [
        line.strip()
        for line in text.splitlines()
        if line.strip().startswith("tasks0_") and "-->" in line
    ]
    assert arrows == [
        "tasks0_0 --> tasks0_1",
        "tasks0_0 --> tasks0_2",
        "tasks0_1 --> tasks0_3",
        "tasks0_2 --> tasks0_3",
        "tasks0_4 --> tasks0_5",
    ]
    assert "class tasks0_5 task_blocked" in text


@pytest.mark.parametrize("status", GRAPH_TASK_STATUSES)
def test_every_status_has_a_sign_in_both_drawings(status: str) -> None:
    node = TaskNode("x", status, "because")  # pyright: ignore[reportArgumentType]
    walk = Walk("r1", "running", trees=(TaskTree("work/graph", {"x": node}),))
    assert f"class tasks0_0 task_{status}" in mermaid_of(picture(PLAN), walk)
    assert f'class="task {status}"' in svg_of(picture(PLAN), walk)
