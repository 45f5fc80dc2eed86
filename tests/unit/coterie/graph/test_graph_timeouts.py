"""The way that a team is left by when nobody decides: drawn, named, and marked when it is taken."""

from coterie.dsl.model.causes import NotDecided
from coterie.graph.drawing.svg import svg_of
from coterie.graph.mermaid import mermaid_of
from coterie.graph.picture import Picture, picture
from coterie.graph.taken_path import walk_of
from coterie.workflows.core.views import TrailEntry
from tests.support.pictures.graphs import Drawing, hold_apart, plan_of, words_in

TEXT = """
llm_config:
  providers: {scripted: {}}
  default_provider: scripted
  default_model: demo
  personas:
    writer: {prompts: {user: Write.}}
    planner:
      prompts: {}
      execution_plan:
        - {name: inner, type: approval, prompt: "Ok?", deadline: 1h, on_timeout: late}
orchestration:
  entry_team: review
  teams:
    review:
      tasks:
        - {name: sign, type: approval, prompt: "Ok?", deadline: 2d, on_timeout: late}
        - {name: plan, agent_type: generic_orchestrating, persona_key: planner}
        - name: write
          agent_type: generic_single_shot
          persona_key: writer
          requires_approval: {at: after, approvers: [ann], deadline: 3d, on_timeout: other}
        - {name: never, type: approval, prompt: "Ok?", deadline: 2d}
      routing: {default: null}
    late: {tasks: [{name: a, type: set, values: {x: 1}}]}
    other: {tasks: [{name: b, type: set, values: {x: 1}}]}
"""
LATE = "nobody decides sign within 2 d or inner within 1 h"
WAYS = {"late": (LATE,), "other": ("nobody decides write within 3 d",)}


def drawn() -> Picture:
    return picture(plan_of(TEXT))


def test_each_team_that_silence_leads_to_has_one_way_with_all_its_reasons() -> None:
    ways = [route for route in drawn().routes if route.kind == "timeout"]
    assert {route.targets[0]: route.words for route in ways} == WAYS
    assert {route.team for route in ways} == {"review"}


def test_timeout_route_is_in_the_text_and_in_the_drawing() -> None:
    text = mermaid_of(drawn())
    assert f'team_review -.->|"{LATE}"| team_late' in text
    assert "a person accepts its answer, by ann, within 3 d, else other" in text
    drawing = Drawing(svg_of(drawn()))
    hold_apart(drawing)
    groups = [words_in(group) for group in drawing.groups("route")]
    assert any("nobody decides sign within 2 d" in words for words in groups)
    assert any("nobody decides in time" in words_in(one) for one in drawing.groups("legend"))


def test_a_run_that_went_this_way_shows_it() -> None:
    entry = TrailEntry(
        number=1,
        at="2026-01-01T00:00:00+00:00",
        kind="route",
        team="review",
        visit=1,
        status="failure",
        cause=NotDecided("timed_out", "review/sign#1"),
        next_team="late",
    )
    walk = walk_of("run", "", [entry])
    taken = {route.targets: walk.orders(route) for route in drawn().routes}
    assert taken == {("late",): (1,), ("other",): (), (): ()}
