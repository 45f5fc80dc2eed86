"""The graph of a run draws the ways that it went, also those that the plan does not have."""

from coterie.graph.drawing.svg import svg_of
from coterie.graph.mermaid import mermaid_of
from coterie.graph.picture import picture
from coterie.graph.taken_path import Walk, walk_of
from tests.support.graphs import Drawing, hold_apart, plan_of, title_of
from workflows.control.pause_and_amend import told_redirect
from workflows.core.messages import RedirectInput
from workflows.core.views import TrailEntry

TEXT = """
orchestration:
  entry_team: a
  teams:
    a:
      tasks: [{name: one, type: set, values: {x: 1}}]
      routing:
        rules: [{condition: all_success, next_team: b}]
        default: null
    b:
      tasks: [{name: two, type: set, values: {x: 2}}]
      routing: {default: null}
    c: {tasks: [{name: three, type: set, values: {x: 3}}]}
"""
PLAN = plan_of(TEXT)
TO_C = told_redirect(RedirectInput(team="c", by="ann", why="too dear"))


def trail(*told: dict[str, object]) -> list[TrailEntry]:
    given = {"at": "2026-01-01T00:00:00+00:00", "visit": 1, "because": ""}
    return [
        TrailEntry.model_validate({"number": number, **given, **one})
        for number, one in enumerate(told, 1)
    ]


def led(team: str, to: str, because: str = TO_C) -> dict[str, object]:
    return {
        "kind": "route", "team": team, "status": "success", "next_team": to, "because": because,
    }  # fmt: skip


def enters(team: str) -> dict[str, object]:
    return {"kind": "team", "team": team}


def away_from(team: str, because: str = TO_C) -> dict[str, object]:
    told = f"{team} is not begun: {because}"
    return {"kind": "control", "team": team, "visit": 0, "because": told}


def taken(walk: Walk) -> set[str]:
    """The arrows that are drawn as taken."""
    shown = Drawing(svg_of(picture(PLAN), walk))
    hold_apart(shown)
    titles = {
        title_of(group)
        for group in shown.groups("route")
        if "unvisited" not in group.get("class", "")
    }
    text = mermaid_of(picture(PLAN), walk)
    assert text.count("==>") == len(titles)
    return titles


def test_a_redirect_at_a_teams_end_is_its_own_arrow_and_no_other_is_taken() -> None:
    walk = walk_of("r", "", trail(enters("a"), led("a", "c"), enters("c")))
    assert taken(walk) == {f"a: {TO_C} → c"}


def test_a_redirect_that_names_the_team_of_a_rule_does_not_take_the_rule() -> None:
    to_b = "redirected to b by ann: rule 1: all_success"
    walk = walk_of("r", "", trail(enters("a"), led("a", "b", to_b), enters("b")))
    assert taken(walk) == {f"a: {to_b} → b"}


def test_a_budget_that_leads_elsewhere_is_its_own_arrow() -> None:
    used_up = "the token budget of the run is used up, 12 of 10"
    walk = walk_of("r", "", trail(enters("b"), led("b", "c", used_up), enters("c")))
    assert taken(walk) == {f"b: {used_up} → c"}


def test_a_reason_that_imitates_silence_takes_no_arrow_of_silence() -> None:
    why = "redirected to c by ann: nobody decided in time"
    walk = walk_of("r", "", trail(enters("a"), led("a", "c", why), enters("c")))
    assert taken(walk) == {f"a: {why} → c"}


def test_the_way_to_a_team_that_was_not_begun_was_not_taken() -> None:
    rule = led("a", "b", "rule 1: all_success (one success)")
    walk = walk_of("r", "", trail(enters("a"), rule, away_from("b"), enters("c")))
    assert walk.taken == {("a", "redirect", "c"): (1,)}
    assert taken(walk) == {f"a: {TO_C} → c"}


def test_who_is_led_away_twice_went_one_way() -> None:
    told = trail(enters("a"), led("a", "b", "rule 1: all_success"), away_from("b"),
                 away_from("c", "redirected to a by ben"), enters("a"))  # fmt: skip
    assert walk_of("r", "", told).taken == {("a", "redirect", "a"): (1,)}


def test_a_run_that_was_led_away_before_its_first_team_did_not_enter_there() -> None:
    walk = walk_of("r", "", trail(away_from("a"), enters("c")))
    assert taken(walk) == {f"start: {TO_C} → c"}
    drawing = Drawing(svg_of(picture(PLAN), walk))
    [entry] = drawing.groups("entry")
    assert not any("taken" in part.get("class", "") for part in entry.iter())
    assert "start ==>" in mermaid_of(picture(PLAN), walk)


def test_the_default_and_the_end_are_still_taken() -> None:
    told = trail(enters("a"), led("a", "b", "rule 1: all_success"), enters("b"),
                 {**led("b", "c", "default: no rule matched"), "next_team": None})  # fmt: skip
    assert walk_of("r", "", told).taken == {("a", 1): (1,), ("b", None): (2,)}
