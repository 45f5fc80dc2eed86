"""The graph of a run draws the ways that it went, also those that the plan does not have."""

from coterie.dsl.evaluate.because import route_because
from coterie.dsl.model.causes import BudgetReached, DefaultTaken, RouteCause, RuleMatched, SentOn
from coterie.graph.drawing.svg import svg_of
from coterie.graph.mermaid import mermaid_of
from coterie.graph.picture import picture
from coterie.graph.taken_path import Walk, walk_of
from coterie.workflows.control.pause_and_amend import sent_on
from coterie.workflows.core.causes.people_causes import NotBegun
from coterie.workflows.core.messages import RedirectInput
from coterie.workflows.core.views import TrailEntry
from tests.support.pictures.graphs import Drawing, hold_apart, plan_of, title_of

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
SENT = sent_on(RedirectInput(team="c", by="ann", why="too dear"))
TO_C = route_because(SENT)
RULE = RuleMatched("rule", 1)


def trail(*message: dict[str, object]) -> list[TrailEntry]:
    given = {"at": "2026-01-01T00:00:00+00:00", "visit": 1, "because": ""}
    return [
        TrailEntry.model_validate({"number": number, **given, **one})
        for number, one in enumerate(message, 1)
    ]


def led(team: str, to: str | None, cause: RouteCause = SENT) -> dict[str, object]:
    return {
        "kind": "route",
        "team": team,
        "status": "success",
        "next_team": to,
        "cause": cause,
        "because": route_because(cause),
    }


def enters(team: str) -> dict[str, object]:
    return {"kind": "team", "team": team}


def away_from(team: str, sent: SentOn = SENT) -> dict[str, object]:
    cause = NotBegun("not_begun", team, sent)
    return {"kind": "control", "team": team, "visit": 0, "cause": cause}


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
    to_b = SentOn("redirected", "b", "ann", "rule 1: all_success")
    walk = walk_of("r", "", trail(enters("a"), led("a", "b", to_b), enters("b")))
    assert taken(walk) == {f"a: {route_because(to_b)} → b"}


def test_a_budget_that_leads_elsewhere_is_its_own_arrow() -> None:
    used_up = BudgetReached("budget_used_up", "tokens", "run", 12, 10)
    walk = walk_of("r", "", trail(enters("b"), led("b", "c", used_up), enters("c")))
    assert taken(walk) == {"b: the token budget of the run is used up, 12 of 10 tokens → c"}


def test_a_reason_that_imitates_silence_takes_no_arrow_of_silence() -> None:
    why = SentOn("redirected", "c", "ann", "nobody decided in time")
    walk = walk_of("r", "", trail(enters("a"), led("a", "c", why), enters("c")))
    assert taken(walk) == {f"a: {route_because(why)} → c"}


def test_the_way_to_a_team_that_was_not_begun_was_not_taken() -> None:
    rule = led("a", "b", RULE)
    walk = walk_of("r", "", trail(enters("a"), rule, away_from("b"), enters("c")))
    assert walk.taken == {("a", "redirect", "c"): (1,)}
    assert taken(walk) == {f"a: {TO_C} → c"}


def test_graph_draws_one_route_when_a_team_is_redirected_twice() -> None:
    shown = trail(
        enters("a"),
        led("a", "b", RULE),
        away_from("b"),
        away_from("c", SentOn("redirected", "a", "ben")),
        enters("a"),
    )
    assert walk_of("r", "", shown).taken == {("a", "redirect", "a"): (1,)}


def test_a_run_that_was_led_away_before_its_first_team_did_not_enter_there() -> None:
    walk = walk_of("r", "", trail(away_from("a"), enters("c")))
    assert taken(walk) == {f"start: {TO_C} → c"}
    drawing = Drawing(svg_of(picture(PLAN), walk))
    [entry] = drawing.groups("entry")
    assert not any("taken" in part.get("class", "") for part in entry.iter())
    assert "start ==>" in mermaid_of(picture(PLAN), walk)


def test_the_default_and_the_end_are_still_taken() -> None:
    shown = trail(
        enters("a"), led("a", "b", RULE), enters("b"), led("b", None, DefaultTaken("default", "b"))
    )
    assert walk_of("r", "", shown).taken == {("a", 1): (1,), ("b", None): (2,)}
