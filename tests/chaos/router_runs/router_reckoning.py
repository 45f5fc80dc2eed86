"""After the siege of sessions: the same answers and requests, and sources that exist."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

from pydantic import JsonValue

from coterie.dsl.values import Json
from coterie.runs.ends.end_facts import RunEnd
from coterie.runs.histories.history_links import links
from tests.chaos.book import Call, calls_of, check_calls, read_log
from tests.chaos.moments import check_digests, digests, noted
from tests.chaos.router_runs.router_plan import GAPS, MESSAGES, UNDISTURBED
from tests.chaos.router_runs.router_siege import RouterSiege, Struck

_SOURCES = re.compile(r"^Sources: (.+)$", re.MULTILINE)


@dataclass
class RouterReport:
    """What came of the sessions."""

    wrong: list[str] = field(default_factory=list[str])
    sessions: int = 0
    struck: list[Struck] = field(default_factory=list[Struck])
    turns: int = 0
    requests: int = 0
    """Model requests of the undisturbed session."""
    asked: int = 0
    """Calls of the model in all sessions, repeated ones too."""
    equal: int = 0
    """Requests of sessions under fire that have the digest of the undisturbed one."""
    compared: int = 0
    tools: int = 0
    cited: int = 0
    exist: int = 0
    searches: int = 0
    """Requests that the stand-in search engine got."""

    def lines(self) -> list[str]:
        """For people."""
        by_victim = ", ".join(
            f"{sum(one.strike.victim == victim for one in self.struck)} of {victim}"
            for victim in ("worker", "server", "both")
        )
        by_gap = ", ".join(
            f"{sum(one.strike.gap.where == where for one in self.struck)} {where}"
            for where in dict.fromkeys(gap.where for gap in GAPS)
        )
        return [
            f"{self.sessions} sessions, {self.turns} turns answered, {len(self.struck)} kills "
            f"({by_victim}; {by_gap})",
            f"{self.requests} model requests undisturbed; {self.equal} of {self.compared} under "
            f"fire have the same digest, in {self.asked} calls of the model",
            f"{self.tools} calls of tools, {self.searches} searches of the web",
            f"{self.exist} of {self.cited} cited sources exist",
        ]


async def reckon_sessions(siege: RouterSiege, pages: frozenset[str], searches: int) -> RouterReport:
    """Read everything that was written down; nothing is killed any more.

    Args:
        siege: What was played.
        pages: The addresses that the search engine answers with.
        searches: How often it was asked.
    """
    folder = siege.ground.shop.folder
    report = RouterReport(struck=siege.struck, searches=searches)
    report.wrong += siege.ground.deaths
    log = noted(folder / "calls.jsonl")
    times, kills = read_log(folder / "calls.jsonl"), [one.at for one in siege.struck]
    report.asked = sum(map(len, times.values()))
    expected: dict[str, set[str]] = {}
    undisturbed = ""
    for session, talk in siege.talks.items():
        report.sessions += 1
        report.turns += len(talk.replies)
        calls: list[Call] = []
        found: dict[str, set[str]] = {}
        async for history in links(siege.client, session):
            part, id = calls_of(history), history.run_id or ""
            report.wrong += check_calls(session, id, part, times, kills)
            calls += part
            for name, sent in digests(log, id).items():
                found.setdefault(name, set()).update(sent)
        report.wrong += check_gaps(calls, [one for one in siege.struck if one.session == session])
        report.tools += sum(call.type == "call_function" for call in calls)
        came_to = outcome(talk.replies, talk.end)
        if session == UNDISTURBED:
            expected, undisturbed = found, came_to
            report.requests = len(found)
        else:
            report.compared += len(found)
            report.equal += sum(one == expected.get(name) for name, one in found.items())
            report.wrong += check_digests(session, found, expected)
            if came_to != undisturbed:
                report.wrong.append(f"{session}: ended otherwise: {came_to} not {undisturbed}")
        _check_sources(report, session, talk.replies, calls, folder / "corpus", pages)
    if report.turns != len(MESSAGES) * report.sessions:
        report.wrong.append(f"{report.turns} turns were answered")
    return report


def outcome(replies: Sequence[JsonValue], end: RunEnd | None) -> str:
    """Return what a session replied and keeps; seconds are those of the machine."""
    context = {} if end is None or end.result is None else end.result.context
    return json.dumps([*replies, _without_seconds(context)], sort_keys=True)


def _without_seconds(value: JsonValue) -> JsonValue:
    if isinstance(value, list):
        return [_without_seconds(one) for one in value]
    if isinstance(value, dict):
        return {key: _without_seconds(one) for key, one in value.items() if key != "seconds"}
    return value


def check_gaps(calls: Sequence[Call], struck: Sequence[Struck]) -> list[str]:
    """Return the kills that missed their gap: then the session was not tried as planned.

    Between two calls of tools, the first has a result and the second is not scheduled; between two
    turns and while a person is asked, no activity is open at all.
    """
    wrong: list[str] = []
    for one in struck:
        tools = [call for call in calls if call.type == "call_function"]
        what = tools if one.strike.gap.where == "between two calls" else calls
        open_calls = [
            call.id
            for call in what
            if call.scheduled <= one.at and (call.ended is None or call.ended > one.at)
        ]
        if open_calls:
            wrong.append(f"{one.session}: the kill {one.strike} met {', '.join(open_calls)}")
    return wrong


def _check_sources(
    report: RouterReport,
    session: str,
    replies: Sequence[JsonValue],
    calls: Sequence[Call],
    corpus: Path,
    pages: frozenset[str],
) -> None:
    places = existing(calls, corpus, pages)
    for turn, reply in enumerate(replies, 1):
        named = _SOURCES.search(str(reply))
        cited = [] if named is None else named[1].split(", ")
        report.cited += len(cited)
        report.exist += sum(place in places for place in cited)
        if not cited:
            report.wrong.append(f"{session}: turn {turn} names no source")
        for place in cited:
            if place not in places:
                report.wrong.append(f"{session}: turn {turn} names {place}, which does not exist")


def existing(calls: Sequence[Call], corpus: Path, pages: frozenset[str]) -> set[str]:
    """Return the places that a session found and that exist: lines of a text, or pages.

    Args:
        calls: Of its history.
        corpus: The folder of the indexed texts.
        pages: The addresses that the search engine answers with.
    """
    places: set[str] = set()
    for call in calls:
        if call.type != "call_function" or call.completed is None:
            continue
        data = cast("Json", json.loads(call.result).get("data") or {})
        for found in cast("list[Mapping[str, object]]", data.get("passages") or []):
            lines = (corpus / str(found["path"])).read_text().splitlines()
            start, end = int(str(found["start_line"])), int(str(found["end_line"]))
            if "\n".join(lines[start - 1 : end]).strip() == str(found["text"]).strip():
                places.add(f"{found['path']}:{start}")
        for found in cast("list[Mapping[str, object]]", data.get("results") or []):
            if found["url"] in pages:
                places.add(str(found["url"]))
    return places
