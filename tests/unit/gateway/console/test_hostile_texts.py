"""No text of a run, a plan or a person becomes more than text in a page."""

import re
from dataclasses import replace
from xml.etree.ElementTree import Element, SubElement

import pytest

from coterie.gateway.console.drawn_figures import UnexpectedDrawing, checked
from coterie.graph.drawing.svg import figure_of
from coterie.graph.picture import picture
from tests.unit.gateway.console.hostile_texts import HOSTILE, harmless, hostile
from tests.unit.gateway.console.pages import page_of, parsed, recorded, with_texts

NOT_SHOWN = {
    ".tone": "a class",
    ".input.origin": "a sentence names it",
    ".effects[].effect": "the page says it in other words",
    ".plan.teams[].tasks[].path": "its place in the list stands for it",
    ".requests[].diff[].kind": "a class",
    ".trees[].rows[][]": "the parent, which is the place in the tree",
    ".plan.teams[].id": "its name stands for it",
    ".plan.teams[].type": "a class",
    ".timeline.bars[].bar.kind": "a class",
    ".visits[].anchor": "an id",
    ".visits[].tone": "a class",
    ".visits[].events[].tone": "a class",
    ".agents[].turns[].call": "where a served page shows its text in progress",
}
"""`{path of a text in the view: why no page shows it as text}`."""


async def test_every_text_of_a_run_page_stays_text_and_is_shown() -> None:
    paths: set[str] = set()
    shown: set[str] = set()
    for name in CASES:
        page = with_texts(await page_of(name), hostile(paths))
        text = harmless(parsed("run.html", page))
        shown |= set(re.findall("⟦(.*?)⟧", text))
    assert len(paths) > 80
    assert sorted(paths - shown - NOT_SHOWN.keys()) == []


CASES = ("tool_agent", "task_graph", "steered", "scarce_budgets", "consents", "every_kind", "batch")


async def test_a_drawing_of_hostile_names_holds_no_more_than_text() -> None:
    run = (await recorded("task_graph")).latest
    drawn = picture(run.plan)
    boxes = tuple(
        replace(
            box,
            name=HOSTILE,
            limits=(HOSTILE,),
            tasks=tuple(replace(task, name=HOSTILE, detail=(HOSTILE,)) for task in box.tasks),
        )
        for box in drawn.boxes
    )
    routes = tuple(
        replace(route, words=(HOSTILE,), found=(HOSTILE,), updates=(HOSTILE,))
        for route in drawn.routes
    )
    figure = figure_of(replace(drawn, name=HOSTILE, boxes=boxes, routes=routes))
    svg = checked(figure, "a graph").svg
    assert "<img" not in svg
    assert "<script" not in svg
    assert "onerror" in svg


@pytest.mark.parametrize(
    ("tag", "attributes"),
    [
        ("script", {}),
        ("style", {}),
        ("a", {"href": "https://example.com"}),
        ("image", {"href": "x"}),
        ("foreignObject", {}),
        ("g", {"onload": "x()"}),
        ("g", {"style": "x"}),
        ("g", {"fill": "url(https://example.com)"}),
        ("g", {"class": 'a" onload="x'}),
    ],
)
def test_a_drawing_with_anything_but_shapes_is_refused(
    tag: str, attributes: dict[str, str]
) -> None:
    root = Element("svg")
    SubElement(root, tag, attributes)
    with pytest.raises(UnexpectedDrawing):
        checked(root, "a drawing")
