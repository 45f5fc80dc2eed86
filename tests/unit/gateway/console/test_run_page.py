"""The page of a run says what its history says."""

import re
from datetime import UTC, datetime, timedelta

import pytest

from coterie.gateway.timelines.bars import SCALE
from tests.replay.record import HISTORIES
from tests.unit.gateway.console.pages import NOW, page_of, parsed, text_in

WAITING = "waiting_calls"


def words(text: str) -> str:
    return re.sub(r"\s+", " ", text)


async def test_the_page_shows_what_each_rule_found() -> None:
    page = await page_of("task_graph")
    taken = [route for route in page.graph.routes if route.taken]
    assert [(route.rule, route.to, route.found) for route in taken] == [
        ("2", "the end", "met: deliver is failure")
    ]
    assert "not met: all_success" in page.graph.routes[0].found
    assert page.graph.drawing is not None
    assert "met: deliver is failure" in page.graph.drawing.svg


async def test_the_page_shows_who_wrote_each_value_of_the_context() -> None:
    page = await page_of("steered")
    rows = {row.path: row for row in page.context}
    assert rows["topic"].writer == "ann"
    assert rows["text"].writer == "polish#1"
    tree = parsed("run.html", page)
    assert "redirected to polish by ann: it reads badly" in words(text_in(tree))


async def test_a_conversation_has_the_result_of_each_tool_call() -> None:
    page = await page_of("tool_agent")
    first = page.agents[0]
    assert first.agent == "work#1/act"
    calls = first.turns[0].calls
    assert [call.tool for call in calls] == ["look", "lok", "helper"]
    assert [call.failed for call in calls] == [False, True, False]
    assert all(call.result is not None for call in calls)


async def test_a_decided_request_shows_what_the_person_saw() -> None:
    [card] = (await page_of("tool_agent")).requests
    assert (card.verdict, card.by, card.comment, card.is_open) == (
        "approved",
        "ann",
        "so be it",
        False,
    )
    assert card.prompt
    assert card.digest


async def test_the_page_shows_bounds_beside_what_was_used() -> None:
    page = await page_of("steered")
    meters = {one.name: one for one in page.proofs.run}
    assert (meters["model calls"].used, meters["model calls"].bound) == ("2", "3")


async def test_a_long_wait_is_drawn_short_and_named() -> None:
    page = await page_of("steered")
    assert page.timeline.short.startswith("2 d 13 h")
    spans = [drawn.span for drawn in page.timeline.bars]
    assert all(span.at >= 0 and span.at + span.length <= SCALE + 3 for span in spans)
    turns = [drawn for drawn in page.timeline.bars if drawn.bar.kind == "turn"]
    assert min(drawn.span.length for drawn in turns) > 50, "days of waiting leave room for the work"


async def test_a_run_in_progress_says_since_when_and_what_it_waits_for() -> None:
    page = await page_of("begun_branches")
    assert page.ended is None
    assert f"in progress as of {NOW:%Y-%m-%d}"[:16] in words(text_in(parsed("run.html", page)))


@pytest.mark.parametrize(
    "name", sorted(f.stem.removesuffix(".0.1.0") for f in HISTORIES.glob("*.0.1.0.json"))[::4]
)
async def test_every_page_is_whole_and_leads_only_to_itself(name: str) -> None:
    tree = parsed("run.html", await page_of(name))
    ids = tree.xpath("//@id")
    assert len(ids) == len(set(ids))
    for link in tree.xpath("//a/@href"):
        assert link.startswith("#")
        assert link[1:] in ids
    assert not tree.xpath("//script | //img | //iframe | //object | //form | //*[@style]")
    assert [link.get("href") for link in tree.xpath("//link")] == ["data:,"]
    assert not tree.xpath("//table[not(.//th)] | //section[not(h2) and not(@aria-label)]")


async def test_a_page_shows_200_rows_and_folds_the_rest_without_losing_one() -> None:
    from dataclasses import replace

    page = await page_of("tool_agent")
    talk = page.agents[0]
    later = page.read_at + timedelta(seconds=1)
    page = replace(page, agents=(talk,) * 450, read_at=later)
    tree = parsed("run.html", page)
    assert len(tree.xpath("//section[@id='agents']/details[contains(@class,'talk')]")) == 200
    assert len(tree.xpath("//section[@id='agents']//details[contains(@class,'talk')]")) == 450
    assert "250 more conversations" in text_in(tree)


def test_times_have_a_zone() -> None:
    from coterie.gateway.console.page_templates import moment

    assert re.search(r"(Z|[+-]\d\d:\d\d)$", moment(datetime(2026, 1, 2, tzinfo=UTC)))
    assert moment("not a time") == "not a time"
