"""The reckoning of sessions under fire finds what is wrong; or its silence would prove nothing."""

import json
from collections import Counter
from pathlib import Path

import pytest

from tests.chaos.book import Call
from tests.chaos.moments import Noted, check_digests, digests
from tests.chaos.router_runs.router_plan import GAPS, RouterPlan, RouterStrike
from tests.chaos.router_runs.router_play import HITS, SAMPLE, add_descriptions
from tests.chaos.router_runs.router_reckoning import check_gaps, existing, outcome
from tests.chaos.router_runs.router_siege import Struck


def test_three_sessions_meet_each_victim_at_each_gap() -> None:
    plan = RouterPlan.of(7, 18)
    met = Counter((one.gap, one.victim) for strikes in plan.sessions.values() for one in strikes)
    assert len(met) == 18
    assert [len(one) for one in RouterPlan.of(7, 8).sessions.values()] == [6, 2]


def asked(activity: str, digest: str, run: str = "r") -> Noted:
    return Noted("asked", "router/decide#1.0", 1, f"{run}/{activity}", digest)


def test_a_request_with_another_digest_is_found() -> None:
    undisturbed = digests([asked("1", "a"), asked("2", "b")], "r")
    assert check_digests("s", digests([asked("1", "a"), asked("2", "b")], "r"), undisturbed) == []
    other = [asked("1", "a"), asked("1", "c"), asked("3", "b"), asked("2", "x", "another run")]
    wrong = check_digests("s", digests(other, "r"), undisturbed)
    assert wrong == [
        "s: 3 was asked, and not in the undisturbed run",
        "s: 2 was not asked",
        "s: 1 was asked 2 different requests, or another one",
    ]


@pytest.mark.parametrize(
    ("at", "gap", "met"),
    [(3.0, 0, ""), (1.5, 0, "tool-1"), (2.5, 0, ""), (2.5, 1, "model-1"), (4.5, 1, "tool-2")],
)
def test_a_kill_that_misses_its_gap_is_found(at: float, gap: int, met: str) -> None:
    calls = [
        Call("call_function", "tool-1", 1.0, ended=2.0),
        Call("run_agent", "model-1", 2.1, ended=4.0),
        Call("call_function", "tool-2", 4.1),
    ]
    strike = RouterStrike(GAPS[gap], "worker", 0.1)
    wrong = check_gaps(calls, [Struck("s", strike, at)])
    assert wrong == ([f"s: the kill {strike} met {met}"] if met else [])


def found(**data: object) -> Call:
    return Call("call_function", "1", 1.0, completed=2.0, result=json.dumps({"data": data}))


def test_a_source_exists_only_if_its_text_and_its_page_do() -> None:
    line = (SAMPLE / "corpus" / "tidewise.md").read_text().splitlines()[2]
    passage = {"path": "tidewise.md", "start_line": 3, "end_line": 3, "text": line}
    calls = [
        found(passages=[passage, {**passage, "start_line": 4, "end_line": 4}]),
        found(results=[{"url": HITS[0].url}, {"url": "https://made.up"}]),
    ]
    pages = frozenset(hit.url for hit in HITS)
    assert existing(calls, SAMPLE / "corpus", pages) == {"tidewise.md:3", HITS[0].url}


def test_replies_are_compared_and_a_session_without_an_end_keeps_nothing() -> None:
    assert outcome(["a"], None) == '["a", {}]'
    assert outcome(["a"], None) != outcome(["b"], None)


def test_texts_of_others_join_the_corpus_only_where_it_is_played(tmp_path: Path) -> None:
    add_descriptions(tmp_path)
    others = {file.name: file.stat().st_size for file in tmp_path.iterdir()}
    assert min(others.values()) > 5_000
    assert not others.keys() & {file.name for file in (SAMPLE / "corpus").iterdir()}
