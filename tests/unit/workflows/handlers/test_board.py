"""The board says where a run is, also between teams, in fan-outs and at its end."""

import pytest
from pydantic import JsonValue

from coterie.rendering.run_text import status_text
from dsl.model.plan import Plan
from dsl.task_graph.graph_tasks import TaskNotes
from dsl.task_graph.task_causes import GraphTaskEnded, GraphTaskStarted
from dsl.task_graph.task_reading import read_tasks
from dsl.task_graph.task_schedule import TaskSchedule
from dsl.tool_loop.tool_loop_progress import OpenCall, ToolLoopProgress, ToolResult
from tests.support.engine import plan_of
from workflows.core.memory import FanOut, Track
from workflows.core.progress.agent_progress import AgentLoopProgress
from workflows.core.progress.progress_kinds import TaskAttempts, TaskGraphProgress
from workflows.core.requests import Pending
from workflows.core.state import RunState
from workflows.handlers.board import board, status

PLAN: Plan = plan_of("""
orchestration:
  entry_team: draft
  teams: { draft: { tasks: [{ name: note, type: set, values: { n: 1 } }] } }
""")


@pytest.mark.parametrize(
    ("main", "message"),
    [
        (Track(team="draft", visit=2), "**test**: team **draft**, visit 2 (0 of 30 team visits)"),
        (Track(team="draft"), "**test**: team **draft** is next (0 of 30 team visits)"),
        (
            Track(fan_out=FanOut(("left", "right"))),
            "**test**: branches **left**, **right** (0 of 30",
        ),
        (Track(), "**test**: at its end (0 of 30 team visits)"),
    ],
)
def test_the_board_begins_with_where_the_run_is(main: Track, message: str) -> None:
    assert board(PLAN, RunState(tracks={"main": main})).startswith(message)


def test_a_run_without_budgets_has_no_line_for_them() -> None:
    assert board(PLAN, RunState()).endswith("- 0 model calls, 0 skill calls, 0 tokens")


def test_board_shows_a_few_of_very_many_steps_and_requests() -> None:
    """Every step writes it anew, so a thousand branches must not write a thousand lines each."""
    state = RunState()
    for number in range(1000):
        id = f"draft/many/{number}/ok#1"
        state.doing[id] = 0.0
        state.pending[id] = Pending(id=id, prompt="Well?", since="")
    shown = board(PLAN, state)
    assert "- and 990 more steps\n" in shown
    assert "- and for 990 more decisions\n" in shown
    assert shown.count("\n") < 30


def _calling(*calls: OpenCall) -> RunState:
    """A run whose agent makes the calls of its second turn."""
    state = RunState()
    loop = ToolLoopProgress(turns=2, calls=[*calls])
    state.progress.tool_loops["main:draft#1/act"] = AgentLoopProgress(1, loop=loop)
    for number, call in enumerate(calls, 1):
        state.doing[f"draft/act/{call.tool}@2.{number}"] = 0.0
    return state


def test_the_status_has_the_arguments_of_the_calls_in_progress_and_cuts_them() -> None:
    state = _calling(
        OpenCall("look", {"path": "a.py"}, result=ToolResult(text="done")),
        OpenCall("look", {"path": "b.py"}),
        OpenCall("write", {"content": "x" * 2_000_000}),
    )
    done, look, write = status(PLAN, state, done=False).doing
    assert (done.arguments, look.arguments) == (None, '{"path": "b.py"}')
    assert write.arguments is not None
    assert (len(write.arguments), write.arguments[-3:]) == (300, "...")


def test_a_status_of_very_many_calls_stays_small() -> None:
    state = _calling(*(OpenCall("look", {"path": f"{number}.py"}) for number in range(100)))
    doing = status(PLAN, state, done=False).doing
    assert sum(one.arguments is not None for one in doing) == 20


def _graph(size: int) -> RunState:
    state = RunState()
    items: list[JsonValue] = [
        {"id": f"`t{n}`\n**", "dependencies": [f"`t{n - 1}`\n**"] if n % 2 else []}
        for n in range(size)
    ]
    tasks = read_tasks(items, (), TaskNotes(), room=size)
    schedule = TaskSchedule(tasks, "written")
    progress = TaskGraphProgress(tasks, counts=schedule.counts)
    state.progress.task_graphs["main:draft#1/work"] = progress
    schedule.start(0, GraphTaskStarted("task_next", tasks[0].id, 2))
    schedule.end(0, "failed", GraphTaskEnded("task_failed", tasks[0].id))
    schedule.start(2, GraphTaskStarted("task_next", tasks[2].id, 2))
    progress.running["2"] = TaskAttempts()
    return state


def test_the_board_shows_how_far_a_task_graph_is_and_escapes_what_a_model_wrote() -> None:
    shown = board(PLAN, _graph(6))
    assert "- tasks of `draft/work`: 3 pending, 1 in progress, 1 failed, 1 blocked (\\`t2" in shown
    assert "\n**" not in shown


def test_the_status_shows_each_task_with_its_because() -> None:
    (graph,) = status(PLAN, _graph(4), done=False).graphs
    assert graph.step == "draft/work"
    assert [task.status for task in graph.tasks] == ["failed", "blocked", "in_progress", "pending"]
    assert "which failed" in graph.tasks[1].because
    assert "waits for" in graph.tasks[3].because
    text = status_text("r", status(PLAN, _graph(4), done=False))
    assert "0 of 4 tasks completed, 1 pending, 1 in progress, 1 failed, 1 blocked" in text
    assert "[BLOCKED]" in text


def test_the_status_of_a_large_graph_shows_what_matters_most() -> None:
    (graph,) = status(PLAN, _graph(3000), done=False).graphs
    assert (len(graph.tasks), graph.left_out) == (50, 2950)
    assert {"failed", "in_progress", "blocked"} <= {task.status for task in graph.tasks}
