"""What people do to the run of a case: each at its moment, once, as the case says it."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from coterie.dsl.values import Json
from coterie.failures import CommandError
from coterie.testing.files.case_document import CaseDocument, DecisionDocument
from coterie.testing.simulation.scheduled_events import (
    ROUNDED,
    Decisions,
    Scene,
    Timed,
    scheduled_events,
)
from coterie.testing.simulation.scheduled_messages import Messages
from coterie.workflows.core.messages import (
    AmendInput,
    DecideInput,
    RedirectInput,
    RetryInput,
    SayInput,
    SkipInput,
)
from coterie.workflows.core.requests import Pending
from tests.unit.coterie.runs.test_run_client import GONE, Server, run_on

BEGAN = datetime(2026, 1, 2, tzinfo=UTC)


def after(seconds: float) -> datetime:
    return BEGAN + timedelta(seconds=seconds)


def request(id: str, since: float = 0, digest: str = "") -> Pending:
    return Pending(id=id, prompt="?", since=after(since).isoformat(), digest=digest)


def scene(*pending: Pending, doing: Mapping[str, datetime] | None = None) -> Scene:
    return Scene(BEGAN, pending, doing or {})


def decision(**given: Any) -> DecisionDocument:
    return DecisionDocument.model_validate({"decision": "approve", "by": "ann"} | given)


def test_a_decision_is_due_after_its_request_has_waited() -> None:
    decisions = Decisions([decision(approval="t/b#1", after=5), decision(approval="t/a*", after=9)])
    assert decisions.due(scene()) is None
    assert decisions.due(scene(request("t/c#1"))) is None
    assert decisions.due(scene(request("t/a#1", 2))) == after(11)
    assert decisions.due(scene(request("t/a#1", 2), request("t/b#1", 1))) == after(6)


def test_the_first_entry_that_fits_decides_even_if_a_later_one_is_sooner() -> None:
    decisions = Decisions([decision(after=9), decision(after=1)])
    assert decisions.due(scene(request("t/a#1"))) == after(9)


def test_a_request_within_rounds_is_also_known_without_their_numbers() -> None:
    decisions = Decisions([decision(approval="t/each/ask#1")])
    assert decisions.due(scene(request("t/each/3/ask#1", 4))) == after(4)


async def test_a_request_takes_each_entry_that_fits_once_and_in_order() -> None:
    decisions = Decisions([decision(by="ann", approval="t/a*"), decision(by="bob"), decision()])
    server = Server(update=["taken"] * 3)
    both = scene(request("t/a#1", 2), request("t/b#1", 1))
    found: list[tuple[str, str]] = []
    for now in (both, scene(request("t/a#1", 2)), scene(request("t/a#1", 2))):
        await decisions.happen(run_on(server), now)
        sent = server.calls[-1][-1]
        found.append((sent.id, sent.by))
    assert found == [("t/b#1", "bob"), ("t/a#1", "ann"), ("t/a#1", "bob")]
    assert decisions.missed() == "no approval was requested that matches '*'"
    assert Decisions([]).missed() is None


@pytest.mark.parametrize(
    ("entry", "id", "digest", "sent"),
    [
        (
            decision(comment="fine"),
            "t/a#1",
            "d",
            ("decide", DecideInput(id="t/a#1", decision="approve", by="ann", comment="fine",
                                   digest="d")),
        ),
        (
            decision(decision="reject"),
            "t/a#1",
            "",
            ("decide", DecideInput(id="t/a#1", decision="reject", by="ann")),
        ),
        (
            decision(payload=None),
            "t/a#1",
            "",
            ("decide", DecideInput(id="t/a#1", decision="approve", by="ann", payload=None)),
        ),
        (
            decision(decision="retry", comment="again"),
            "t/a/failed#1",
            "d",
            ("retry", RetryInput(task="t/a/failed#1", by="ann", why="again")),
        ),
        (
            decision(decision="skip", value=1, comment="late"),
            "t/a/failed#1",
            "",
            ("skip", SkipInput(task="t/a/failed#1", value=1, by="ann", why="late")),
        ),
        (
            decision(decision="skip", value=1),
            "t/a#1",
            "",
            ("skip", SkipInput(task="t/a", value=1, by="ann")),
        ),
    ],
)  # fmt: skip
async def test_a_decision_is_sent_as_the_entry_says_it(
    entry: DecisionDocument, id: str, digest: str, sent: tuple[str, Any]
) -> None:
    server = Server(update=["taken"])
    other = request("t/other#1", 9, "another")
    await Decisions([entry]).happen(run_on(server), scene(other, request(id, digest=digest)))
    [(_, name, asked)] = server.calls
    assert (name, asked) == sent
    assert asked.model_fields_set >= sent[1].model_fields_set & {"payload"}
    assert ("payload" in asked.model_fields_set) is ("payload" in sent[1].model_fields_set)


@pytest.mark.parametrize(
    ("refused", "answer", "message"),
    [
        (False, "taken", None),
        (True, GONE, None),
        (False, GONE, "t/a#1: there is no run 'a'"),
        (True, "taken", "t/a#1: the run must refuse the decision of 'ann', and accepted it"),
    ],
)
async def test_a_decision_is_taken_or_refused_as_the_case_says(
    refused: bool, answer: Any, message: str | None
) -> None:
    decisions = Decisions([decision(refused=refused)])
    happening = decisions.happen(run_on(Server(update=[answer])), scene(request("t/a#1")))
    if message is None:
        await happening
    else:
        with pytest.raises(CommandError) as failed:
            await happening
        assert str(failed.value).startswith(message)
    assert decisions.missed() is None, "it was made"


def events(case: Json) -> list[Timed]:
    first, *timed = scheduled_events(CaseDocument.model_validate({"name": "c"} | case))
    assert isinstance(first, Decisions)
    assert all(isinstance(one, Timed) for one in timed)
    return [one for one in timed if isinstance(one, Timed)]


@pytest.mark.parametrize(
    ("when", "doing", "due"),
    [
        ({}, {}, BEGAN),
        ({"after": 3}, {}, after(3) + ROUNDED),
        ({"during": "t/s"}, {}, None),
        ({"during": "t/s"}, {"t/s": after(7)}, after(7)),
        ({"during": "t/s", "after": 2}, {"t/s": after(7), "t/o": BEGAN}, after(9) + ROUNDED),
    ],
)
async def test_an_event_is_due_once_some_time_after_the_start_of_its_step(
    when: Json, doing: Mapping[str, datetime], due: datetime | None
) -> None:
    [event] = events({"cancel": when})
    now = scene(doing=doing)
    assert event.due(now) == due
    await event.happen(run_on(Server(cancel=[None])), now)
    assert event.due(now) is None
    assert event.missed() is None


AMEND = AmendInput(updates={"a": 1}, by="ann", why="w")
REDIRECT = RedirectInput(team="u", by="ann", why="w")
SKIP = SkipInput(task="t/s", value=2, by="ann", why="w")
SAY = SayInput(text="Hurry.", step="t/s", by="ann")
BY: Json = {"by": "ann", "why": "w"}
PAUSES: Json = {"pauses": [{"lasts": 60, "after": 5, **BY}]}
CONTROL = {"by": "ann", "why": "w"}


@pytest.mark.parametrize(
    ("case", "sent", "quiet", "missed"),
    [
        (
            {"signals": [{"signal": "go", "payload": [1]}]},
            [("signal", "go", [1])],
            [False],
            ["the signal 'go' was never sent"],
        ),
        (
            PAUSES,
            [("signal", "pause", CONTROL), ("signal", "resume", CONTROL)],
            [True, False],
            ["the run was never paused", "the run was never resumed"],
        ),
        (
            {"amendments": [{"updates": {"a": 1}, **BY}]},
            [("update", "amend", AMEND)],
            [True],
            ["the run was never amended"],
        ),
        (
            {"redirects": [{"team": "u", **BY}]},
            [("update", "redirect", REDIRECT)],
            [True],
            ["the run was never redirected to u"],
        ),
        (
            {"skips": [{"task": "t/s", "value": 2, **BY}]},
            [("update", "skip", SKIP)],
            [True],
            ["t/s was never skipped"],
        ),
        (
            {"says": [{"text": "Hurry.", "step": "t/s", "by": "ann"}]},
            [("update", "say", SAY)],
            [True],
            ["'Hurry.' was never said"],
        ),
        ({"cancel": {}}, [("cancel",)], [False], ["the run was never cancelled"]),
    ],
)
async def test_each_kind_of_event_reaches_the_run(
    case: Json, sent: list[tuple[Any, ...]], quiet: list[bool], missed: list[str]
) -> None:
    timed = events(case)
    assert [one.quiet for one in timed] == quiet
    assert [one.missed() for one in timed] == [f"{text}: the run ended before" for text in missed]
    server = Server(signal=[None, None], update=[1], cancel=[None])
    for one in timed:
        await one.happen(run_on(server), scene())
    assert server.calls == sent


def test_a_pause_ends_when_it_has_lasted() -> None:
    pause, resume = events(PAUSES)
    assert (pause.due(scene()), resume.due(scene())) == (after(5) + ROUNDED, after(65) + ROUNDED)


def test_an_event_of_a_step_that_never_ran_says_so() -> None:
    [event] = events({"cancel": {"during": "t/s"}})
    assert event.missed() == (
        "the run was never cancelled: the run ended before, or t/s was never in progress"
    )


@pytest.mark.parametrize(
    ("case", "what"),
    [
        ({"redirects": [{"team": "u", "refused": False}]}, "the redirect to u"),
        ({"redirects": [{"team": "u", "refused": True}]}, "the redirect to u"),
        ({"skips": [{"task": "t/s", "refused": False}]}, "the skip of t/s"),
        ({"skips": [{"task": "t/s", "refused": True}]}, "the skip of t/s"),
        ({"says": [{"text": "Go.", "refused": False}]}, "what tester says"),
        ({"says": [{"text": "Go.", "refused": True}]}, "what tester says"),
    ],
)
async def test_a_redirect_or_a_skip_is_taken_or_refused_as_the_case_says(
    case: Json, what: str
) -> None:
    [expected], [other] = events(case), events(case)
    refused = "True" in str(case)
    as_said, otherwise = (GONE, "taken") if refused else ("taken", GONE)
    await expected.happen(run_on(Server(update=[as_said])), scene())
    with pytest.raises(CommandError) as failed:
        await other.happen(run_on(Server(update=[otherwise])), scene())
    reason = "the run must refuse it, and accepted it" if refused else "there is no run 'a'"
    assert str(failed.value).startswith(f"{what}: {reason}")


EVERY_KIND = CaseDocument.model_validate(
    {
        "name": "busy",
        "decisions": [{"decision": "approve", "by": "ann"}],
        "signals": [{"signal": "go"}, {"signal": "stop", "during": "t/a"}],
        "pauses": [{"by": "ann", "lasts": 5}, {"by": "ann", "lasts": 5, "during": "t/a"}],
        "amendments": [{"by": "ann", "updates": {"a": 1}, "during": "t/a"}],
        "redirects": [{"by": "ann", "team": "other", "during": "t/a"}],
        "skips": [{"by": "ann", "task": "t/a", "during": "t/a"}],
        "says": [{"by": "ann", "text": "Hurry.", "during": "t/a"}],
        "messages": [{"message": "hello"}],
        "cancel": {"during": "t/a"},
    }
)


def test_an_event_that_watches_nothing_is_due_whatever_the_run_waits_for() -> None:
    """What nobody watches is not asked for: the scene lacks it."""
    full = scene(request("t/a#1"), doing={"t/a": BEGAN})
    seen = {"requests": scene(*full.pending), "steps": scene(doing=full.doing), None: scene()}
    found = {"requests": 0, "steps": 0, None: 0}
    for event in (*scheduled_events(EVERY_KIND), Messages(EVERY_KIND.messages, ["t/a"])):
        found[event.watches] += 1
        assert event.due(seen[event.watches]) == event.due(full) is not None
        if isinstance(event, Timed):
            event.done = True
            assert (event.watches, event.due(full)) == (None, None)
    assert found == {"requests": 1, "steps": 9, None: 3}


def test_a_case_without_events_watches_nothing() -> None:
    events = (*scheduled_events(CaseDocument(name="idle")), Messages([], ["t/a"]))
    assert [event.watches for event in events] == [None, None]
