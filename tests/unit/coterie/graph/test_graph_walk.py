"""The path of a run, read from its trail, and how it is drawn."""

from xml.etree.ElementTree import Element

import pytest
from inline_snapshot import snapshot

from coterie.activities.contracts import TokenUsage
from coterie.dsl.evaluate.routing import choose
from coterie.dsl.model.causes import RuleMatched
from coterie.dsl.model.facts import Facts
from coterie.dsl.model.outcomes import Outcome
from coterie.graph.drawing.svg import svg_of
from coterie.graph.mermaid import mermaid_of
from coterie.graph.picture import picture
from coterie.graph.taken_path import Walk, walk_of
from coterie.workflows.core.views import RunStatus, StepInProgress, TrailEntry, TrailKind
from tests.support.pictures.graphs import SMALL, Drawing, hold_apart, plan_of, title_of, words_in

PLAN = plan_of(SMALL)


def trail(*message: tuple[TrailKind, str, int, str | None, str, str]) -> list[TrailEntry]:
    """Events: kind, team, visit, step, status, and the rule by which the run left."""
    return [
        TrailEntry(
            number=number,
            at="2026-01-01T00:00:00+00:00",
            kind=kind,
            team=team,
            visit=visit,
            step=step,
            status=status or None,
            cause=RuleMatched("rule", int(rule)) if rule else None,
        )
        for number, (kind, team, visit, step, status, rule) in enumerate(message, 1)
    ]


ONCE_AROUND = trail(
    ("team", "draft", 1, None, "", ""),
    ("step", "draft", 1, "write", "success", ""),
    ("route", "draft", 1, None, "success", "2"),
    ("team", "draft", 2, None, "", "2"),
    ("step", "draft", 2, "write", "success", ""),
    ("route", "draft", 2, None, "success", "1"),
    ("team", "review", 1, None, "", "1"),
    ("approval", "review", 1, "sign_off", "rejected", ""),
    ("step", "review", 1, "sign_off", "failure", ""),
    ("route", "review", 1, None, "failure", "2"),
    ("team", "draft", 3, None, "", "2"),
)


def status(**fields: object) -> RunStatus:
    """A run that goes on."""
    given: dict[str, object] = {
        "plan": "example",
        "digest": "d",
        "state": "running",
        "team": "draft",
        "visit": 1,
        "teams_run": 3,
        "max_total_teams": 9,
        "visits": {},
        "model_calls": 0,
        "function_calls": 0,
        "usage": TokenUsage(),
        "events": 11,
        **fields,
    }
    return RunStatus.model_validate(given)


def drawn(walk: Walk) -> Drawing:
    return Drawing(svg_of(picture(PLAN), walk))


def test_visits_routes_and_marks_are_counted_in_order() -> None:
    walk = walk_of("run-1", "goes on", ONCE_AROUND, status())
    assert walk.visits == {"draft": 3, "review": 1}
    assert walk.taken == {("draft", 2): (1,), ("draft", 1): (2,), ("review", 2): (3,)}
    assert walk.marks == {("review", "sign_off"): "failure"}
    assert walk.standing == {"draft": "now"}


@pytest.mark.parametrize(
    ("status_field", "visit", "rule"), [("OK", 1, 1), ("no", 1, 2), ("no", 2, None)]
)
def test_route_in_the_picture_is_the_rule_that_routing_chose(
    status_field: str, visit: int, rule: int | None
) -> None:
    answer = Outcome.succeeded({"status": status_field, "text": "it"})
    facts = Facts(context={}, tasks={"write": answer}, run={"visit": visit})
    [left] = trail(("route", "draft", visit, None, "success", ""))
    cause = choose(PLAN.teams["draft"], facts).cause
    walk = walk_of("r", "", [left.model_copy(update={"cause": cause})])
    assert list(walk.taken) == [("draft", rule)], cause


def test_graph_prefers_the_state_of_the_run_over_its_trail() -> None:
    """A fan-out's cancelled branches leave no last word in the trail."""
    begun = trail(("team", "draft", 1, None, "", ""), ("team", "review", 1, None, "", ""))
    doing = StepInProgress(step="draft/write", since="2026-01-01T00:00:00+00:00")
    walk = walk_of("r", "", begun, status(doing=[doing]))
    assert walk.standing == {"draft": "now"}
    assert walk.marks == {("draft", "write"): "doing"}


def test_a_step_that_waits_for_a_person_is_marked() -> None:
    begun = trail(("team", "review", 1, None, "", ""))
    walk = walk_of("r", "", begun, status(waiting_for=["review/sign_off#1"]))
    assert walk.standing == {"review": "waiting"}
    assert walk.marks == {("review", "sign_off"): "waiting"}
    review = _team(drawn(walk), "review")
    assert "waits for a person" in words_in(review)
    assert _classes(review) >= {"at-waiting", "waiting"}


def test_a_run_that_was_ended_from_outside_stopped_where_it_was() -> None:
    begun = trail(("team", "draft", 1, None, "", ""))
    walk = walk_of("r", "was cancelled", begun, status(), over=True)
    assert walk.standing == {"draft": "stopped"}
    assert "stopped here" in words_in(_team(drawn(walk), "draft"))


@pytest.mark.parametrize("kind", ["NoRoute", "TeamFailed"])
def test_a_run_without_a_route_failed_at_its_team(kind: str) -> None:
    begun = trail(("team", "review", 1, None, "", ""), ("route", "review", 1, None, kind, ""))
    walk = walk_of("r", "failed", begun, over=True)
    assert walk.standing == {"review": "failed"}
    shown = drawn(walk)
    assert "failed here" in words_in(_team(shown, "review"))
    faded = [title_of(group) for group in shown.groups("final") if "unvisited" in _css(group)]
    assert faded == ["the run ends", "the run ends"]


def test_a_limit_fails_the_run_but_is_no_route() -> None:
    begun = trail(
        ("team", "review", 1, None, "", ""), ("route", "draft", 0, None, "LimitExceeded", "")
    )
    shown = drawn(walk_of("r", "failed", begun, over=True))
    assert "failed here" in words_in(_team(shown, "draft"))
    assert all("unvisited" in _css(group) for group in shown.groups("final"))


def test_rounds_at_once_mark_the_step_that_they_are_rounds_of() -> None:
    walk = walk_of("r", "", trail(("step", "draft", 1, "each/3/write", "success", "")))
    assert walk.marks == {("draft", "each/write"): "success"}


def test_taken_ways_are_strong_and_numbered_and_the_others_fade() -> None:
    shown = drawn(walk_of("run-1", "goes on", ONCE_AROUND, status()))
    ways = [(title_of(group), _css(group)) for group in shown.groups("route")]
    strong = {title.rpartition(":")[0] for title, css in ways if "unvisited" not in css}
    assert strong == {"draft: rule 1", "draft: rule 2", "review: rule 2"}
    badges = [box.text for box in shown.texts() if box.css == "on-done"]
    assert sorted(badges) == ["1", "1", "1 visit", "2", "3", "3 visits"]


@pytest.mark.parametrize("times", [1, 4, 30])
def test_labels_of_a_run_cover_no_text(times: int) -> None:
    around = [
        entry.model_copy(update={"number": number})
        for number, entry in enumerate(ONCE_AROUND * times, 1)
    ]
    hold_apart(drawn(walk_of("run-1", "goes on", around, status())))
    hold_apart(
        drawn(walk_of("run-1", "goes on", around, status(waiting_for=["review/sign_off#1"])))
    )


def test_the_headline_tells_the_run_and_where_it_is() -> None:
    shown = drawn(walk_of("run-1", "goes on at draft/write", ONCE_AROUND, status()))
    assert "run-1: goes on at draft/write" in shown.words()


def test_a_long_headline_is_wrapped_and_whole() -> None:
    why = "failed after 4 of 30 team visits: " + "a task of a team failed, since it had to, " * 6
    shown = drawn(walk_of("run-1", why.strip(), ONCE_AROUND, over=True))
    hold_apart(shown)
    assert "".join(why.split()) in "".join(shown.words().split())


def test_the_same_walk_as_mermaid() -> None:
    walk = walk_of("run-1", "goes on", ONCE_AROUND, status())
    assert mermaid_of(picture(PLAN), walk) == snapshot("""\
---
title: "example · run-1 · goes on"
config:
  flowchart:
    wrappingWidth: 340
---
flowchart TD
  start(( ))
  team_draft["<b>Draft</b><br/><i>draft · at most 3 visits</i><br/>3 visits · now here<br/>agent <b>write</b>: writer · scripted/demo"]
  team_review["<b>review</b><br/>1 visit<br/>✗ approval <b>sign_off</b>: by ada · within 2 d, else reject"]
  start --> team_draft
  team_draft ==>|"taken 2<br/>1 · write.status = #quot;OK#quot;"| team_review
  team_draft ==>|"taken 1<br/>2 · all tasks succeeded<br/>and run.visit #lt; 2"| team_draft
  team_draft -.->|"otherwise"| end2((("end")))
  team_review -->|"1 · sign_off succeeded"| end3((("end")))
  team_review ==>|"taken 3<br/>2 · a task failed"| team_draft
  team_review -.->|"otherwise"| end5((("the run fails")))
  classDef visited stroke:#1f5fd1,stroke-width:3px
  class team_review visited
  classDef now stroke:#1f7a4d,stroke-width:4px
  class team_draft now
""")  # noqa: E501


def _team(shown: Drawing, team: str) -> Element:
    [group] = [group for group in shown.groups("team") if title_of(group) == f"team {team}"]
    return group


def _css(group: Element) -> str:
    return group.get("class", "")


def _classes(group: Element) -> set[str]:
    return {css for element in group.iter() for css in element.get("class", "").split()}
