"""A run's picture shows the turns and the calls of agents that use tools."""

from coterie.graph.mermaid import mermaid_of
from coterie.graph.picture import Picture, RouteArrow, TeamBox
from coterie.graph.taken_path import MAX_TOOLS, Walk, walk_of, with_walk
from coterie.graph.task_lines import TaskLine
from coterie.workflows.core.causes.agent_causes import ModelTurned
from coterie.workflows.core.views import TrailEntry

PICTURE = Picture(
    "example",
    "d",
    (),
    "work",
    (
        TeamBox(
            "work",
            "Work",
            "standard",
            (),
            (
                TaskLine("act", 0, "agent", "act", ("researcher",)),
                TaskLine("each", 0, "loop", "each", ()),
                TaskLine("each/check", 1, "agent", "check", ()),
            ),
        ),
    ),
    (RouteArrow("work", None, "end", (), ()),),
)


def entry(
    number: int, step: str | None, status: str = "", *calls: str, turn: int = 0
) -> TrailEntry:
    return TrailEntry(
        number=number,
        at="2026-01-01T00:00:00+00:00",
        kind="step" if step else "team",
        team="work",
        visit=1,
        step=step,
        status=status or None,
        cause=ModelTurned("turn_called", turn, calls) if turn else None,
    )


def lines(*entries: TrailEntry) -> list[tuple[str, int, tuple[str, ...]]]:
    picture = with_walk(PICTURE, walk(*entries))
    return [(task.name, task.depth, task.detail) for task in picture.boxes[0].tasks]


def walk(*entries: TrailEntry) -> Walk:
    return walk_of("a", "", [entry(0, None), *entries])


LOOKED_UP = (
    entry(1, "act", "turn", "search", "search", "read", turn=1),
    entry(2, "act/search@1.1", "success"),
    entry(3, "act/search@1.2", "failure"),
    entry(4, "act/read@1.3", "success"),
    entry(5, "act", "turn", "read", turn=2),
    entry(6, "act/read@2.1", "success"),
    entry(7, "act", "success"),
)


def test_calls_stand_below_their_agent_by_tool() -> None:
    assert lines(*LOOKED_UP)[:3] == [
        ("act", 0, ("2 turns", "researcher")),
        ("search", 1, ("2 calls, 1 failed",)),
        ("read", 1, ("2 calls",)),
    ]


def test_a_call_has_the_mark_of_its_latest_end() -> None:
    drawn = mermaid_of(PICTURE, walk(*LOOKED_UP))
    assert "✗ tool <b>search</b>: 2 calls, 1 failed" in drawn
    assert "✓ tool <b>read</b>: 2 calls" in drawn


def test_concurrent_rounds_of_a_loop_count_together() -> None:
    rounds = (
        entry(1, "each/0/check", "turn", "read", turn=1),
        entry(2, "each/1/check", "turn", "read", turn=1),
        entry(3, "each/1/check/read@1.1", "failure"),
    )
    assert lines(*rounds)[2:] == [
        ("check", 1, ("2 turns",)),
        ("read", 2, ("2 calls, 1 failed",)),
    ]


def test_a_new_visit_of_the_team_counts_anew() -> None:
    assert lines(*LOOKED_UP, entry(8, None)) == lines()


def test_many_tools_are_folded_into_the_last_line() -> None:
    tools = [f"tool_{number}" for number in range(MAX_TOOLS + 2)]
    shown = lines(entry(1, "act", "turn", *tools, turn=1))
    assert [name for name, depth, _ in shown if depth == 1 and name != "check"] == [
        *tools[:MAX_TOOLS],
        "2 calls of 2 other tools",
    ]
