"""What each pane of the terminal UI shows, from what was reported of a run."""

from collections.abc import Callable, Sequence
from datetime import timedelta

import pytest
from rich.cells import cell_len

from coterie.dsl.model.outcomes import Failure
from coterie.rendering.progress_lines import ProgressLine
from coterie.runs.ends.end_facts import RunEnd
from coterie.runs.run_view import RunNews, RunView
from coterie.ui.panes import (
    action_lines,
    head_lines,
    request_lines,
    thought_lines,
    tree_rows,
    usage_lines,
)
from coterie.workflows.core.views import TrailEntry
from tests.support.watching.watched_runs import (
    ASKED,
    BEGAN,
    CALL,
    DOING,
    NOW,
    asked,
    entries,
    status_of,
    working,
    writes,
)

LATER = NOW + timedelta(hours=1)
EVIL = "\x1b[2J[bold red]x[/]\u202e\nfake line"


def texts(lines: Sequence[ProgressLine]) -> list[str]:
    return [line.text for line in lines]


def tree(seen: RunView, width: int = 100) -> list[str]:
    return [row.line.text for row in tree_rows(seen, width, NOW)]


def test_the_tree_shows_tasks_of_the_graph_and_the_steps_within_them() -> None:
    assert tree(working(), 40) == [
        "• agent                           0.9 s",
        "  ✓ plan                          0.9 s",
        "  • work",
        "    ▶ read  [IN PROGRESS]",
        "      • act  12 s",
        "        • shell@1.1  12 s",
        "    ⋯ mend  [PENDING]",
    ]


def test_a_row_carries_the_name_by_which_its_step_is_skipped() -> None:
    rows = tree_rows(working(), 100, NOW)
    named = ["", "agent/plan", "agent/work", "agent/work/0", "agent/work/0/act", CALL, ""]
    assert [row.step for row in rows] == named


def test_the_last_status_of_a_graph_comes_from_the_trail_when_the_graph_is_closed() -> None:
    seen = working()
    ended = {"code": "task_completed", "task": "read"}
    blocked = {"code": "task_blocked", "task": "mend", "dependency": "read", "failed": "read"}
    news = entries(
        {"step": "work/0", "status": "completed", "cause": ended},
        {"step": "work/1", "status": "blocked", "cause": blocked},
        {"step": "work", "status": "success", "seconds": 3},
    )
    seen.take(RunNews(status_of(), news))
    assert [" ".join(line.split()) for line in tree(seen, 40)][2:] == [
        "✓ work 3 s",
        "✓ read [COMPLETED]",
        "■ mend [BLOCKED]",
    ]
    assert (
        "50%  agent/work: 1 of 2 tasks completed, 1 blocked"
        in texts(head_lines(seen, 100, NOW))[-1]
    )


def test_a_large_graph_counts_the_tasks_that_its_status_leaves_out() -> None:
    pending = [
        {"id": f"t{number}", "status": "pending", "because": "it waits"} for number in (1, 2)
    ]
    counts = {"completed": 2000, "in_progress": 1, "pending": 999}
    graph = {"step": "agent/work", "counts": counts, "tasks": pending, "left_out": 2998}
    seen = working(graphs=[graph])
    assert texts(head_lines(seen, 100, NOW))[-1].endswith(
        "67%  agent/work: 2000 of 3000 tasks completed, 999 pending, 1 in progress"
    )
    assert "    and 2,997 more tasks" in tree(seen)


def test_a_graph_that_starts_again_loses_the_tasks_of_its_earlier_execution() -> None:
    seen = working()
    task = {"id": "verify", "status": "pending", "because": "it is available"}
    again = {"step": "agent/work", "counts": {"pending": 1}, "tasks": [task]}
    seen.take(RunNews(status_of(doing=DOING, graphs=[again]), ()))
    assert texts(head_lines(seen, 100, NOW))[-1].endswith("0 of 1 tasks completed, 1 pending")


def test_the_head_shows_goal_state_time_and_progress() -> None:
    seen = working()
    seen.goal = "Mend it"
    assert texts(head_lines(seen, 100, NOW)) == [
        "Goal: Mend it",
        "r1  running  12 s  visit 1 of 30",
        "░░░░░░░░░░░░░░░░░░░░ 0%  agent/work: 0 of 2 tasks completed, 1 pending, 1 in progress",
    ]


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        (
            {"state": "paused", "paused": {"by": "ann", "why": "lunch", "since": "x"}},
            "  paused by ann: lunch",
        ),
        ({"state": "waiting"}, "r1  waiting  12 s  visit 1 of 30"),
    ],
)
def test_the_head_says_why_a_run_does_not_continue(
    fields: dict[str, object], expected: str
) -> None:
    assert expected in texts(head_lines(working(**fields), 100, NOW))


def test_the_head_says_how_a_run_ended() -> None:
    seen = working(asked())
    seen.take_end(RunEnd("failed", None, Failure("GoalNotReached", "'mend' failed")), NOW)
    assert texts(head_lines(seen, 100, LATER))[:2] == [
        "r1  failed  12 s  visit 1 of 30",
        "  GoalNotReached: 'mend' failed",
    ]
    assert texts(action_lines(seen, 100, NOW)) == ["Nothing: the run has ended."]
    assert request_lines(seen, 100, None) == []
    assert {row.step for row in tree_rows(seen, 100, NOW)} == {""}


def test_the_thought_is_the_answer_while_it_is_written_and_later_the_last_turn() -> None:
    seen = working()
    assert texts(thought_lines(seen, 100)) == ["agent/work/0/act: turn 1 calls shell"]
    seen.take_answers([writes("First I read\nthe code")])
    assert texts(thought_lines(seen, 100)) == [
        "  agent/plan writes:",
        "    | First I read",
        "    | the code",
    ]
    seen.take_answers([])
    assert texts(thought_lines(seen, 100))[1:] == [
        "agent/plan wrote:",
        "  | First I read",
        "  | the code",
    ]


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({}, f"• calls shell  12 s  ({CALL})"),
        ({"doing": [{"step": "agent/act", "since": "2026-01-02T03:04:07+00:00", "turn": 1}]},
         "• agent/act  turn 2  10 s"),
        ({"doing": []}, "Nothing is in progress."),
    ],
)  # fmt: skip
def test_the_action_is_the_innermost_step(fields: dict[str, object], expected: str) -> None:
    assert texts(action_lines(working(**fields), 100, NOW)) == [expected]


def test_a_step_that_its_retry_repeats_says_which_attempt_and_why() -> None:
    seen = working()
    retried = {"kind": "step", "team": "agent", "visit": 1, "step": "work/0/act", "number": 9}
    retried |= {"at": "2026-01-02T03:04:07+00:00", "status": "retried", "because": "Timeout: late"}
    doing = [{"step": "agent/work/0/act", "since": "2026-01-02T03:04:07+00:00"}]
    seen.take(RunNews(status_of(doing=doing), [TrailEntry.model_validate(retried)]))
    assert texts(action_lines(seen, 100, NOW))[1:] == [
        "↻ agent/work/0/act: attempt 2, because Timeout: late"
    ]


def test_an_action_that_waits_for_a_decision_says_so() -> None:
    assert texts(action_lines(working(asked()), 100, NOW)) == [
        f"? {CALL} waits for a decision, 12 s",
        "  make test",
    ]


def test_the_arguments_of_a_call_that_asked_stay_while_it_works() -> None:
    seen = working(asked({"command": "test"}))
    seen.take(RunNews(status_of(doing=DOING), []))
    assert texts(action_lines(seen, 100, NOW)) == [
        f"• calls shell  12 s  ({CALL})",
        '  {"command": "test"}',
    ]


def test_the_arguments_of_a_call_that_asked_nobody_are_those_that_the_run_tells() -> None:
    doing = [{**one, "arguments": '{"path": "a\\u001b.py"}'} for one in DOING]
    assert texts(action_lines(working(doing=doing), 100, NOW)) == [
        f"• calls shell  12 s  ({CALL})",
        '  {"path": "a\\u001b.py"}',
    ]
    before = working(asked({"command": "edited"}))
    before.take(RunNews(status_of(doing=doing), []))
    assert texts(action_lines(before, 100, NOW))[1] == '  {"command": "edited"}'


def test_budgets_have_bars_that_fill() -> None:
    budgets = [
        {"id": "run.tokens", "used": 767, "limit": 1000, "on_exceeded": "stop", "state": "warned"},
        {"id": "run.money", "used": 3, "limit": 2, "on_exceeded": "ask", "state": "used_up"},
    ]
    lines = usage_lines(working(budgets=budgets), 100)
    assert texts(lines) == [
        "2 model calls, 1 function call, 767 tokens (500 in, 267 out), 0.25 USD",
        "budget   run.tokens: 767 of 1,000 tokens (77%), nearly used up; then: stop",
        "  ███████████████░░░░░",
        "budget   run.money: 3.00 of 2.00 USD (150%), used up; then: ask",
        "  ████████████████████",
    ]
    assert [line.style for line in lines] == ["", *["yellow"] * 4]


def test_the_request_shows_its_subject_and_what_to_know_before_a_decision() -> None:
    facts: dict[str, object] = {
        "quorum": 2,
        "approved_by": ("ann",),
        "changes": ("pages: 3 -> 4 (ann)",),
        "met": [{"label": "private", "tool": "read", "step": "a/b"}],
        "remembered_as": "k",
        "cut": True,
    }
    shown = texts(request_lines(working(asked(**facts)), 100, None))
    assert shown[:4] == [f"1 of 1: {ASKED}", "May it be called?", "", "make test"]
    assert shown[-5:] == [
        "approved so far: ann",
        "changed: pages: 3 -> 4 (ann)",
        "it sends data out, and the run has met: private",
        "an approval also answers equal requests of this run",
        "shortened; the dialog of a decision shows it whole",
    ]


def test_the_selected_request_stays_until_it_is_decided() -> None:
    second = asked(id="agent/other#1")
    seen = working(asked(), second)
    seen.select_next()
    assert seen.request == second
    seen.take(RunNews(status_of(), [], (asked(), second)))
    assert seen.request == second
    seen.take(RunNews(status_of(), [], (asked(),)))
    assert seen.request == asked()
    seen.select_next()
    assert seen.request == asked()
    seen.take(RunNews(status_of(), [], ()))
    assert seen.request is None


PANES: dict[str, Callable[[RunView, int], list[str]]] = {
    "head": lambda seen, width: texts(head_lines(seen, width, NOW)),
    "tree": tree,
    "thought": lambda seen, width: texts(thought_lines(seen, width)),
    "action": lambda seen, width: texts(action_lines(seen, width, NOW)),
    "request": lambda seen, width: texts(request_lines(seen, width, None)),
}


@pytest.mark.parametrize("pane", PANES)
def test_no_text_of_a_model_controls_the_terminal_or_adds_a_line(pane: str) -> None:
    task = {"id": EVIL, "status": "pending", "because": EVIL}
    graph = {"step": "agent/work", "counts": {"pending": 1}, "tasks": [task]}
    doing = [{"step": "agent/work", "since": NOW.isoformat()}]
    doing.append({"step": f"agent/work/{EVIL}@1.1", "since": NOW.isoformat()})
    seen = working(asked(EVIL, prompt=EVIL), graphs=[graph], doing=doing)
    seen.goal = EVIL
    if pane == "thought":
        seen.take_answers([writes(EVIL)])
    shown = PANES[pane](seen, 120)
    assert any("[bold red]x[/]" in line for line in shown)
    assert not [line for line in shown if {"\x1b", "\n", "\u202e"} & set(line)]


@pytest.mark.parametrize("width", [40, 80, 200])
def test_the_columns_of_the_tree_fit_its_width(width: int) -> None:
    rows = tree_rows(working(), width, NOW)
    columns = [row.line.text for row in rows if row.line.text.startswith(("• ", "  ✓", "  • w"))]
    assert len(columns) == 3
    assert max(cell_len(text) for text in columns) <= width


def test_before_the_first_report_every_pane_has_something_to_say() -> None:
    seen = RunView("r1", BEGAN)
    assert texts(head_lines(seen, 80, NOW)) == ["r1  starting"]
    assert texts(thought_lines(seen, 80)) == ["No model has written yet."]
    assert texts(action_lines(seen, 80, NOW)) == ["Nothing is in progress."]
    assert (tree(seen), usage_lines(seen, 80), request_lines(seen, 80, None)) == ([], [], [])
