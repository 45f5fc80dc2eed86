"""Concurrent rounds are counted by state wherever a run is shown, and a partial success is none."""

import io
from collections.abc import Callable
from datetime import UTC, datetime

import pytest

from coterie.display.following.live import LiveView, SafeConsole
from coterie.dsl.model.outcomes import Outcome
from coterie.graph.drawing.svg import svg_of
from coterie.graph.mermaid import mermaid_of
from coterie.graph.picture import picture
from coterie.graph.taken_path import walk_of
from coterie.rendering.progress_lines import MARKS, progress_lines, visit_lines
from coterie.rendering.run_text import status_text
from coterie.runs.progress import Progress
from coterie.runs.run_view import RunNews, RunView
from coterie.text.round_counts import steps_shown
from coterie.ui.panes import tree_rows
from coterie.workflows.core.progress.progress_kinds import ConcurrentLoopProgress
from coterie.workflows.core.requests import Pending
from coterie.workflows.core.state import RunState
from coterie.workflows.core.state_keys import MAIN, StateKey
from coterie.workflows.core.state_parts import Track
from coterie.workflows.core.views import RunStatus, StepInProgress, TrailEntry
from coterie.workflows.handlers.board import board, status
from tests.support.one_team import work

AT = "2026-01-02T03:04:05.678+00:00"
PLAN = work("""
- name: each
  type: loop
  iterate_on: "{{ context.items }}"
  loop_variable: item
  concurrency: 20
  max_iterations: 30
  body: [{name: sign, type: approval, prompt: Ok?, deadline: 1h}]
""")


def busy() -> RunState:
    """A run with 40 items of at most 30: 10 have ended, 16 run, 2 wait for a person."""
    state = RunState(tracks={"main": Track(team="work", visit=1)})
    ended = {str(number): Outcome.succeeded(number) for number in range(9)}
    ended["9"] = Outcome.skipped()
    loop = ConcurrentLoopProgress(list(range(40)), ended, bound=30)
    state.progress.concurrent_loops[f"{StateKey.visit(MAIN, 'work', 1)}/each"] = loop
    rounds = [27, *range(10, 27)]
    for step in ("each", *(f"each/{n}/sign" for n in rounds)):
        state.doing[f"work/{step}"] = 1_767_323_045.0
    for number in (12, 27):
        id = f"work/each/{number}/sign#1"
        state.pending[id] = Pending(id=id, prompt="Ok?", since=AT)
    return state


def seen() -> RunStatus:
    return status(PLAN, busy(), done=False)


def _live() -> str:
    console = SafeConsole(file=io.StringIO(), width=120, height=60, no_color=True)
    view = LiveView("r1", color=False, console=console)
    view.progress(RunNews(seen(), (), tuple(busy().pending.values())))
    view.close()
    file = io.StringIO()
    SafeConsole(file=file, width=120, height=60, no_color=True).print(view.drawn())
    return file.getvalue()


def _screen() -> str:
    observed = RunView("r1", datetime(2026, 1, 2, tzinfo=UTC))
    began = TrailEntry(number=1, at=AT, kind="team", team="work", visit=1)
    observed.take(RunNews(seen(), (began,)))
    return "\n".join(one.line.text for one in tree_rows(observed, 120, datetime.now(UTC)))


PLACES: dict[str, Callable[[], str]] = {
    "live view": _live,
    "screen": _screen,
    "status": lambda: status_text("r1", seen()),
    "board": lambda: board(PLAN, busy()),
    "graph": lambda: mermaid_of(picture(PLAN), walk_of("r1", "", (), seen())),
}
"""Every place that shows a run in progress."""


@pytest.mark.parametrize("place", PLACES)
def test_concurrent_rounds_are_counted_by_state_and_not_listed(place: str) -> None:
    text = PLACES[place]()
    assert "10 of 30" in text, text
    assert "16 running" in text
    assert "2 waiting for a person" in text
    assert text.count("/sign") <= 14, text


def test_counts_of_a_loop_name_every_state() -> None:
    (loop,) = seen().loops
    counts = {"success": 9, "skipped": 1, "running": 16, "waiting": 2, "pending": 2}
    assert (loop.step, loop.rounds, loop.counts) == ("work/each", 30, counts)


def test_steps_within_a_loop_are_shown_in_the_order_of_its_rounds() -> None:
    status = seen()
    shown = steps_shown(status.doing, status.loops)
    names = [one.step for one in shown.steps]
    assert names == ["work/each", *(f"work/each/{n}/sign" for n in range(10, 15))]
    assert shown.more == 13
    others = [StepInProgress(step=f"work/{name}", since=AT) for name in ("b", "a")]
    assert steps_shown(others, ()) == (others, 0)


def trail(*entries: tuple[str, str]) -> list[TrailEntry]:
    began = TrailEntry(number=1, at=AT, kind="team", team="work", visit=1)
    return [
        began,
        *(
            TrailEntry(
                number=number,
                at=AT,
                kind="step",
                team="work",
                visit=1,
                step=step,
                status=status,
                because="Broken: on purpose" if status == "failure" else "",
            )
            for number, (step, status) in enumerate(entries, 2)
        ),
    ]


@pytest.mark.parametrize(
    ("entries", "state"),
    [
        ([("each/0/sign", "success"), ("each", "success")], "success"),
        ([("each/0/sign", "failure"), ("each/1/sign", "success"), ("each", "success")], "partial"),
        ([("each/sign", "failure"), ("each", "success")], "partial"),
        ([("each/sign", "failure"), ("each/sign", "success"), ("each", "success")], "success"),
        ([("each/try/sign", "failure"), ("each/try", "caught"), ("each", "success")], "success"),
        ([("each/search@1.1", "failure"), ("each", "success")], "success"),
        ([("each/0/sign", "failure"), ("each", "failure")], "failure"),
        ([("each/0/sign", "failure"), ("each", "skipped")], "skipped"),
    ],
)
def test_a_step_that_partly_failed_has_no_check_mark(
    entries: list[tuple[str, str]], state: str
) -> None:
    rows = Progress()
    rows.follow(trail(*entries))
    task = rows.visits["work", 1].tasks["each"]
    assert task.state == state
    assert len(set(MARKS.values())) == len(MARKS)
    lines = "\n".join(line.text for line in (*progress_lines(rows, 80, 20), *visit_lines(rows, 80)))
    if state == "partial":
        assert "◐ each" in lines
        assert lines.count("1 step in it failed: each/") == 2


def test_the_path_of_a_run_counts_rounds_and_marks_a_partial_failure() -> None:
    ends = [("each/0/sign", "success"), ("each/1/sign", "failure"), ("each/2/sign", "success")]
    walk = walk_of("r1", "", trail(*ends, ("each", "success")), over=True)
    assert walk.marks == {("work", "each/sign"): "partial", ("work", "each"): "partial"}
    drawn = mermaid_of(picture(PLAN), walk)
    assert "◐ loop <b>each</b>" in drawn
    assert "2 succeeded, 1 failed" in drawn
    assert "2 succeeded, 1 failed" in svg_of(picture(PLAN), walk)
    whole = walk_of("r1", "", trail(("each/0/sign", "success"), ("each", "success")), over=True)
    assert set(whole.marks.values()) == {"success"}
