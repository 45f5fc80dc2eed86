"""What an upgrade would change: replayed runs as a page, those that need a look first."""

import re

import pytest

from coterie.gateway.console.upgrades.upgrade_page import upgrade_html, upgrade_page
from coterie.replay.replay import RunReplayed
from coterie.replay.replay_report import ReplayedRun, replayed_run
from tests.unit.gateway.console.hostile_texts import harmless, hostile
from tests.unit.gateway.console.pages import parsed, read_html, text_in, with_texts

SAME = replayed_run(RunReplayed("same", links=1, events=9, calls=2, compared=3, digest="abc"))
OTHER = replayed_run(
    RunReplayed("other", links=1, events=5, calls=1, differences=("call 1: input", "the end"))
)
GONE = replayed_run(RunReplayed("gone", problem="its history cannot be read"))


def test_runs_that_would_be_decided_differently_come_first_with_each_difference() -> None:
    text = text_in(read_html(upgrade_html([SAME, GONE, OTHER])))
    assert "1 run would be decided differently." in text
    assert "Keep a worker of the version that runs it until it has ended." in text
    order = [text.index(word) for word in ("call 1: input", "history cannot be", "digest abc")]
    assert order == sorted(order)
    assert "the end" in text


@pytest.mark.parametrize(
    ("runs", "left", "headline", "tone"),
    [
        ([], 0, "No run is open.", "good"),
        ([SAME], 0, "Nothing would be decided differently.", "good"),
        ([SAME], 2, "So far, nothing would be decided differently.", "working"),
        ([SAME, GONE], 0, "1 run could not be replayed.", "waiting"),
        ([OTHER, OTHER], 1, "2 runs would be decided differently.", "bad"),
    ],
)
def test_the_headline_says_what_to_expect(
    runs: list[ReplayedRun], left: int, headline: str, tone: str
) -> None:
    page = upgrade_page(runs, left=left)
    assert (page.headline, page.tone) == (headline, tone)
    text = text_in(parsed("upgrade.html", page))
    assert ("still being replayed" in text) is (left > 0)


def test_a_longer_list_is_offered_up_to_a_bound() -> None:
    page = upgrade_page([SAME], team="a b", has_more=True, limit=50)
    assert page.wider == "/upgrade?team=a+b&limit=100"
    assert upgrade_page([SAME], has_more=True, limit=100).wider == ""


def test_every_text_of_a_replay_stays_text_and_is_shown() -> None:
    paths: set[str] = set()
    known = SAME.model_copy(update={"has_current_plan": False, "at": "now", "more": ("x",)})
    page = with_texts(upgrade_page([known, OTHER], team="t"), hostile(paths))
    text = harmless(parsed("upgrade.html", page))
    missing = paths - set(re.findall("⟦(.*?)⟧", text))
    assert missing == {".tone", ".rows[].tone"}
