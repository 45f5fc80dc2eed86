"""The board says where a run is, also between teams, in fan-outs and at its end."""

import pytest
from pydantic import JsonValue

from coterie.activities.contracts import TokenUsage
from coterie.dsl.model.budgets import Budget
from coterie.dsl.model.plan import Plan
from coterie.dsl.task_graph.graph_tasks import TaskNotes
from coterie.dsl.task_graph.task_causes import GraphTaskEnded, GraphTaskStarted
from coterie.dsl.task_graph.task_reading import read_tasks
from coterie.dsl.task_graph.task_schedule import TaskSchedule
from coterie.dsl.tool_loop.tool_loop_progress import OpenCall, ToolLoopProgress, ToolResult
from coterie.rendering.run_text import status_text
from coterie.workflows.core.progress.agent_progress import AgentLoopProgress
from coterie.workflows.core.progress.progress_kinds import TaskAttempts, TaskGraphProgress
from coterie.workflows.core.requests import Pending
from coterie.workflows.core.state import RunState
from coterie.workflows.core.state_parts import BudgetBalance, FanOut, Session, SessionMessage, Track
from coterie.workflows.core.views import Paused, RunStatus, StepInProgress
from coterie.workflows.handlers.board import board, state_of, status
from tests.support.engine import plan_of

PLAN: Plan = plan_of("""
orchestration:
  entry_team: draft
  teams: { draft: { tasks: [{ name: note, type: set, values: { n: 1 } }] } }
""")

ASKS = Pending(id="draft/ok#1", prompt="Well?", since="")
PAUSED = Paused(by="ann", why="lunch", since="")


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


def test_the_board_of_a_run_that_has_done_nothing_is_short() -> None:
    assert board(PLAN, RunState()) == (
        "**test**: at its end (0 of 30 team visits)\n\n"
        "- came here because: the run began\n"
        "- 0 model calls, 0 function calls, 0 tokens"
    )


def test_the_board_shows_the_budgets_that_calls_were_paid_from() -> None:
    budgets = (
        Budget(kind="tokens", limit=10_000),
        Budget(kind="tool_calls", limit=9, scope="team", name="draft"),
        Budget(kind="model_calls", limit=9),
    )
    balances = {
        "run.tokens": BudgetBalance(used=9_120, extended=500, warned=True),
        "team.draft.tool_calls": BudgetBalance(used=1),
    }
    shown = board(PLAN.model_copy(update={"budgets": budgets}), RunState(balances=balances))
    assert shown.splitlines()[-3:] == [
        "- 0 model calls, 0 function calls, 0 tokens",
        "- the token budget of the run: 9,120 of 10,500 tokens (nearly used up)",
        "- the tool call budget of the team draft: 1 of 9 calls",
    ]


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
    """A run whose agent makes the calls of its second turn, one of which was asked again."""
    state = RunState()
    loop = ToolLoopProgress(turns=1, reasks=1, calls=[*calls])
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


def test_the_status_of_a_large_graph_shows_a_late_task_in_progress() -> None:
    state = _graph(60)
    progress = state.progress.task_graphs["main:draft#1/work"]
    late = progress.tasks[58].id
    TaskSchedule(progress.tasks, "written").start(58, GraphTaskStarted("task_next", late, 2))
    (graph,) = status(PLAN, state, done=False).graphs
    assert graph.tasks[-1].id == late
    assert (len(graph.tasks), graph.left_out) == (50, 10)


@pytest.mark.parametrize(
    ("state", "done", "expected"),
    [
        (RunState(), False, "running"),
        (RunState(pending={ASKS.id: ASKS}), False, "waiting"),
        (RunState(pending={ASKS.id: ASKS}, paused=PAUSED), False, "paused"),
        (RunState(pending={ASKS.id: ASKS}, paused=PAUSED), True, "done"),
        (RunState(paused=PAUSED, stop_by=1.0), False, "stopping"),
        (RunState(stop_by=1.0), True, "cancelled"),
    ],
)
def test_one_word_says_what_a_run_does(state: RunState, done: bool, expected: str) -> None:
    assert state_of(state, done=done) == expected


def test_the_board_of_a_busy_run_has_each_line_once() -> None:
    state = _calling(OpenCall("look", {}))
    state.progress.tool_loops["main:draft#1/act"].loop.turns = 2
    state.tracks["main"] = Track(team="draft", visit=1)
    state.doing = {"draft/act": 0.0, "draft/act/look@3.1": 61.0}
    state.pending, state.paused = {ASKS.id: ASKS}, PAUSED
    state.session = Session(queue=[SessionMessage("m2", "Hi", "ann")], received=2)
    state.usage = TokenUsage(input_tokens=30, output_tokens=4)
    state.model_calls, state.function_calls, state.teams_run = 3, 2, 1
    assert board(PLAN, state) == (
        "**test**: team **draft**, visit 1 (1 of 30 team visits)\n\n"
        "- **paused** by ann: lunch\n"
        "- doing `draft/act`, turn 3, since 1970-01-01T00:00:00+00:00\n"
        "- doing `draft/act/look@3.1` since 1970-01-01T00:01:01+00:00\n"
        "- **waits for a person**: `draft/ok#1`: Well?\n"
        f"- message 2 of {PLAN.limits.max_messages}, 1 waiting\n"
        "- came here because: the run began\n"
        "- 3 model calls, 2 function calls, 34 tokens"
    )


def test_ten_lines_of_a_kind_are_all_and_none_is_said_to_be_missing() -> None:
    state = RunState(doing={f"draft/s{number}": 0.0 for number in range(10)})
    state.pending = {f"draft/s{n}#1": ASKS for n in range(10)}
    shown = board(PLAN, state)
    assert (shown.count("- doing "), shown.count("- **waits")) == (10, 10)
    assert "more" not in shown


def test_a_session_without_waiting_messages_shows_how_many_came() -> None:
    state = RunState(session=Session(received=1))
    assert f"- message 1 of {PLAN.limits.max_messages}\n" in board(PLAN, state)


@pytest.mark.parametrize(("length", "shown"), [(2_000, 2_000), (2_001, 2_003)])
def test_a_reason_has_exactly_the_most_characters(length: int, shown: int) -> None:
    paused = PAUSED.model_copy(update={"why": "x" * length})
    found = status(PLAN, RunState(paused=paused), done=False).paused
    assert found is not None
    assert (len(found.why), found.why.endswith("...")) == (shown, length > 2_000)


def test_the_status_says_whole_what_a_run_is_and_does() -> None:
    state = _calling(OpenCall("look", {"path": "b.py"}))
    state.tracks["main"] = Track(team="draft", visit=1)
    state.doing["draft/act"] = 1.5
    state.pending, state.teams_run, state.visits = {ASKS.id: ASKS}, 1, {"draft": 1}
    state.model_calls, state.function_calls, state.session.received = 3, 2, 1
    state.usage = TokenUsage(input_tokens=30, output_tokens=4)
    assert status(PLAN, state, done=False) == RunStatus(
        plan="test",
        digest=PLAN.digest,
        state="waiting",
        team="draft",
        visit=1,
        doing=(
            StepInProgress(
                step="draft/act/look@2.1",
                since="1970-01-01T00:00:00.000+00:00",
                arguments='{"path": "b.py"}',
            ),
            StepInProgress(step="draft/act", since="1970-01-01T00:00:01.500+00:00", turn=2),
        ),
        waiting_for=(ASKS.id,),
        teams_run=1,
        max_total_teams=30,
        visits_counted=1,
        messages=1,
        visits={"draft": 1},
        model_calls=3,
        function_calls=2,
        usage=TokenUsage(input_tokens=30, output_tokens=4),
        last_because="the run began",
        events=0,
    )


def test_the_status_of_a_run_without_a_plan_is_empty() -> None:
    found = status(None, RunState(), done=False)
    assert (found.plan, found.digest, found.max_total_teams) == ("", "", 0)
    assert (found.team, found.visit) == (None, None)
