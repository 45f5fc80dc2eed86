"""The SVG: well-formed, complete, harmless, and nothing lies over anything else."""

from dataclasses import replace
from xml.etree.ElementTree import fromstring

import pytest

from coterie.dsl.model.plan import Plan
from coterie.graph.condition_labels import condition_words
from coterie.graph.drawing.svg import svg_of
from coterie.graph.picture import picture
from tests.support.pictures.graphs import (
    EVERY_KIND,
    HEAD,
    SHIPPED,
    SMALL,
    SVG,
    Drawing,
    hold_apart,
    plan_of,
    shipped_plan,
    title_of,
    words_in,
)

PLANS = ("small", "every kind", *SHIPPED)


def plan(name: str) -> Plan:
    if name in SHIPPED:
        return shipped_plan(name)
    return plan_of({"small": SMALL, "every kind": EVERY_KIND}[name])


def drawing(made: Plan) -> Drawing:
    return Drawing(svg_of(picture(made)))


@pytest.mark.parametrize("name", PLANS)
def test_every_team_and_every_route_is_drawn_once(name: str) -> None:
    made = plan(name)
    drawn = drawing(made)
    assert [title_of(group) for group in drawn.groups("team")] == [
        f"team {id}" for id in made.teams
    ]
    assert len(drawn.groups("route")) == len(picture(made).routes)


@pytest.mark.parametrize("name", PLANS)
def test_every_task_stands_in_the_box_of_its_team(name: str) -> None:
    made = plan(name)
    for group, team in zip(drawing(made).groups("team"), made.teams.values(), strict=True):
        words = words_in(group)
        for step in team.steps:
            assert step.kind in words
            assert step.name[:30].rpartition("_")[0] in words.replace("_ ", "_")


@pytest.mark.parametrize("name", PLANS)
def test_every_rule_shows_its_number_and_its_condition(name: str) -> None:
    """In whole for who points at it; on its label a long one is cut, and shows that it is."""
    made = plan(name)
    rules = [
        (team.id, number, rule)
        for team in made.teams.values()
        for number, rule in enumerate(team.routing.rules if team.routing else (), 1)
    ]
    groups = [group for group in drawing(made).groups("route") if ": rule " in title_of(group)]
    assert len(groups) == len(rules) > 0
    for (team, number, rule), group in zip(rules, groups, strict=True):
        text = " and ".join(condition_words(rule.condition))
        assert title_of(group).startswith(f"{team}: rule {number}: {text} ")
        shown = "".join(f"{words_in(group)} ".partition("all at once")[0].split())
        whole = "".join(f"{number}{text}".split())
        assert shown == whole or all(part in whole for part in shown.split("\u2026")), shown


@pytest.mark.parametrize("name", PLANS)
def test_nothing_lies_over_anything_else(name: str) -> None:
    """As programs draw that have none of the named fonts."""
    hold_apart(drawing(plan(name)))


def test_hostile_names_stay_text() -> None:
    text = svg_of(picture(plan_of(EVERY_KIND)))
    assert "<script" not in text
    shown = " ".join(Drawing(text).words().split())
    assert 'Begin <script>alert("1")</script> & go' in shown
    allowed = {"svg", "style", "title", "g", "rect", "circle", "ellipse", "path", "polygon", "text"}
    root = fromstring(text)
    assert {element.tag.removeprefix(SVG) for element in root.iter()} == allowed
    assert not [key for part in root.iter() for key in part.attrib if key.startswith("on")]
    assert not [key for part in root.iter() for key in part.attrib if key.endswith("href")]


def test_svg_survives_names_that_are_no_xml_blank_or_escapes_of_graphviz(
    capfd: pytest.CaptureFixture[str],
) -> None:
    """Graphviz says nothing: it would warn of cells without size, and of fonts, had it any text."""
    shown = picture(plan_of(SMALL).model_copy(update={"name": "x \x00 y \x1b z \ud800"}))
    names = ("  ", "\\N <b> &amp; W " * 40)
    boxes = tuple(replace(box, name=name) for box, name in zip(shown.boxes, names, strict=True))
    drawn = Drawing(svg_of(replace(shown, boxes=boxes)))
    assert drawn.root.findtext(f"{SVG}title") == "x \ufffd y \ufffd z \ufffd"
    assert "\\N <b> &amp; W" in drawn.words()
    hold_apart(drawn)
    assert capfd.readouterr() == ("", "")


def test_defaults_are_dashed_and_ends_are_distinguished() -> None:
    drawn = drawing(plan_of(SMALL))
    assert [title_of(group) for group in drawn.groups("default") if title_of(group)] == [
        "draft: otherwise → the end (success)",
        "review: otherwise → the end (failure)",
    ]
    assert sorted(title_of(group) for group in drawn.groups("final")) == [
        "the run ends",
        "the run ends",
        "the run fails",
    ]


def test_approvals_and_team_types_are_marked() -> None:
    drawn = drawing(plan_of(EVERY_KIND))
    teams = {title_of(group): group for group in drawn.groups("team")}
    asks = {
        name: sum(inner.get("class") == "asks" for inner in group.iter(f"{SVG}g"))
        for name, group in teams.items()
    }
    assert {name: count for name, count in asks.items() if count} == {
        "team begin": 2,
        "team gamma": 1,
    }
    for name in ("loop", "approval", "concentrator"):
        assert [box.text for box in drawn.texts() if box.css == "on-type"].count(name) == 1


def test_a_fan_out_begins_at_one_label_and_says_where_it_meets() -> None:
    drawn = drawing(plan_of(EVERY_KIND))
    [fan_out] = [group for group in drawn.groups("route") if "all at once" in words_in(group)]
    assert "meet at gather" in words_in(fan_out)
    assert len(fan_out.findall(f"{SVG}polygon")) == 3


def test_a_picture_in_the_dark_has_colours_of_its_own() -> None:
    style = Drawing(svg_of(picture(plan_of(SMALL)))).root.findtext(f"{SVG}style", "")
    light, dark = style.split("@media (prefers-color-scheme: dark)")
    used = set(Drawing(svg_of(picture(plan_of(SMALL)))).root.itertext())
    assert used
    for css in (".page", "text", ".box > path", ".chip > path", ".line > path"):
        assert f"\n{css} {{ " in light.replace(",", " {")
        assert f"\n{css} {{ " in dark.replace(",", " {")


def test_a_chain_of_many_teams_is_drawn() -> None:
    """Nothing here recurses once for each team."""
    count = 300
    teams = "\n".join(
        f"    t{n}: {{ tasks: [{{ name: s, type: set, values: {{ a: 1 }} }}], routing: "
        f"{{ default: {f't{n + 1}' if n + 1 < count else 'null'} }} }}"
        for n in range(count)
    )
    text = f"{HEAD}\norchestration:\n  entry_team: t0\n  max_total_teams: 999\n  teams:\n{teams}\n"
    assert len(drawing(plan_of(text)).groups("team")) == count
