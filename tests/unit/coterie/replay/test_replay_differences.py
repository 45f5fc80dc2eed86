"""What a replay decides otherwise is reported once, at its step; and how its results read."""

from dataclasses import replace
from datetime import timedelta

import pytest
from pydantic import JsonValue
from temporalio.api.common.v1 import Payload, RetryPolicy

from coterie.activities.contracts import NOTIFY
from coterie.dsl.values import Json
from coterie.replay.effects import WorldEffect, answer, call, end, timer
from coterie.replay.replay import RunReplayed
from coterie.replay.replay_differences import Difference, NoValue, differences, first_other
from coterie.replay.replay_report import differences_text, row, same_text, total
from coterie.runs.histories.recorded_values import RecordedValue
from coterie.storage.wire import data_converter, text_of


def effect(key: str, facts: Json, kind: str = "call") -> WorldEffect:
    return WorldEffect("end" if kind == "end" else "call", key, facts, f"about {key}")


CALL = effect("1", {"input": {"a": [1, {"b": 2}], "c": "x"}, "timeout": 5})
END = effect("", {"ended": "completed", "because": "so"}, "end")


def test_each_value_that_differs_is_named_with_its_place() -> None:
    now = [
        effect("1", {"input": {"a": [1, {"b": 3}], "d": "x"}, "timeout": 5}),
        effect("2", {"input": 1}),
        effect("", {"ended": "completed", "because": "thus"}, "end"),
    ]
    found = list(differences([CALL, effect("3", {}), END], now, ["t/a#1", "t/b#1", "t/c#1"]))
    assert found == [
        Difference("t/a#1", "input.a[1].b", 2, 3),
        Difference("t/a#1", "input.c", "x", NoValue.NOTHING),
        Difference("t/a#1", "input.d", NoValue.NOTHING, "x"),
        Difference("", "because", "so", "thus"),
    ]
    assert Difference("", "a", "größer", [1]).description == 'a: recorded "größer", now [1]'
    assert [one.description for one in found] == [
        "t/a#1: input.a[1].b: recorded 2, now 3",
        't/a#1: input.c: recorded "x", now nothing',
        't/a#1: input.d: recorded nothing, now "x"',
        'because: recorded "so", now "thus"',
    ]
    assert [one.only_wording for one in found] == [False, False, False, True]


@pytest.mark.parametrize(
    ("before", "after", "fields"),
    [
        ({"a": [1, 2]}, {"a": [1]}, ["a"]),
        ({"a": {}}, {"a": []}, ["a"]),
        ({"a": 1}, {"a": 1}, []),
        ({"a": None}, {}, ["a"]),
        ({"a": [{"x": 1}, 2, 3]}, {"a": [{"x": 2}, 2, 4]}, ["a[0].x", "a[2]"]),
    ],
)
def test_lists_of_one_length_are_compared_by_their_items(
    before: Json, after: Json, fields: list[str]
) -> None:
    found = differences([effect("1", before)], [effect("1", after)], ["t"])
    assert [one.field for one in found] == fields


@pytest.mark.parametrize(
    ("field", "step", "wording"),
    [
        ("because", "", True),
        ("carried.because", "", True),
        ("error.message", "", True),
        ("message.text", "", False),
        ("because", "t/a#1", False),
    ],
)
def test_only_the_words_of_the_end_are_wording(field: str, step: str, wording: bool) -> None:
    assert Difference(step, field, 1, 2).only_wording is wording


T1, T2 = timer("1", timedelta(minutes=2), "nap"), timer("2", timedelta(0), "late")


@pytest.mark.parametrize(
    ("then", "now", "words"),
    [
        ([CALL, T1], [CALL, T1], None),
        ([CALL], [], "recorded the call 1 (about 1), now nothing like it"),
        ([], [T1], "now timer 1 (nap), recorded nothing like it"),
        ([CALL, T1], [T1, T2], "recorded the call 1 (about 1), now timer 2 (late)"),
        ([END, answer("u", 1)], [], None),
        ([], [END, answer("u", 1)], None),
    ],
)
def test_a_call_or_a_timer_of_one_side_alone_is_described(
    then: list[WorldEffect], now: list[WorldEffect], words: str | None
) -> None:
    assert first_other(then, now) == words


def test_an_effect_has_all_facts_that_were_decided() -> None:
    given: JsonValue = {"text": "Dear all", "id": 1}
    retry = RetryPolicy(maximum_attempts=2)
    made = call("7", "run_agent", "q", given, timedelta(seconds=90), retry, "draft/write")
    assert made == WorldEffect(
        "call",
        "7",
        {
            "activity": "run_agent",
            "task_queue": "q",
            "input": given,
            "timeout": 90.0,
            "retry": {"maximumAttempts": 2},
            "summary": "draft/write",
        },
        "draft/write",
    )
    sent = call("7", NOTIFY, None, given, timedelta(0), retry, "")
    assert (sent.facts["input"], sent.facts["task_queue"]) == ({"id": 1}, None)
    assert T1.facts == {"seconds": 120.0, "summary": "nap"}
    assert [one.description for one in (made, T1, answer("u", 1), END)] == [
        "the call 7 (draft/write)",
        "timer 1 (nap)",
        "the answer to update u",
        "the end",
    ]


@pytest.mark.parametrize(
    ("made", "facts"),
    [
        (end("completed", {"a": 1}), {"ended": "completed", "a": 1}),
        (end("failed", None, "down"), {"ended": "failed", "message": "down"}),
        (end("completed", [1]), {"ended": "completed", "result": [1]}),
        (answer("u", None), {"answer": None}),
    ],
)
def test_an_end_has_its_result_and_its_message(made: WorldEffect, facts: Json) -> None:
    assert made.facts == facts


def payloads(*given: JsonValue) -> list[Payload]:
    return list(data_converter.payload_converter.to_payloads(given))


def test_payloads_are_decoded_one_by_one() -> None:
    assert RecordedValue([*payloads(1, "a"), Payload()]).json == [1, "a"]
    assert RecordedValue([Payload()]).json is None
    assert RecordedValue(payloads({"a": 1})).json == {"a": 1}
    assert RecordedValue().json is None
    assert (text_of(payloads("nap")[0]), text_of(Payload())) == ("nap", "")


OPEN = RunReplayed("r", links=1, events=1, calls=1)
DONE = replace(
    OPEN,
    events=20,
    end=end("completed", {"trail_digest": "abc", "trail_length": 7}),
    more=("x", "y"),
)


@pytest.mark.parametrize(
    ("done", "words"),
    [
        (
            OPEN,
            "1 event of r: the same 1 call with the same input; it is still open, and no worker "
            "reported its decisions",
        ),
        (
            replace(OPEN, links=2, events=30, calls=3, compared=1, digest="abc"),
            "30 events in 2 links of r: the same 3 calls with the same input; it is still open, "
            "and its worker reports the same 1 decision (digest abc)",
        ),
        (
            DONE,
            "20 events of r: the same calls and the same 7 decisions (digest abc); this code also "
            "stores: x, y",
        ),
        (
            replace(OPEN, end=end("failed", None, "refused")),
            "1 event of r: the same end: refused",
        ),
        (replace(OPEN, end=end("cancelled", None)), "1 event of r: the same end: cancelled"),
    ],
)
def test_a_run_that_is_decided_the_same_says_what_was_compared(
    done: RunReplayed, words: str
) -> None:
    assert done.same
    assert same_text(done) == words
    size, _, rest = words.partition(" of r: ")
    assert row(done) == f"same     r  {size}: {rest}"


def test_a_row_shows_a_problem_or_the_first_difference() -> None:
    differs = replace(OPEN, differences=("one: a", "two: b"))
    cannot = RunReplayed("r", problem="no history")
    assert row(differs) == "differs  r  one: a"
    assert row(cannot) == "cannot   r  no history"
    assert differences_text(differs) == "  one: a\n  two: b"
    assert (differs.same, cannot.same) == (False, False)


@pytest.mark.parametrize(
    ("seen", "words"),
    [
        ([], "no open run"),
        ([OPEN], "1 of 1 run the same"),
        (
            [OPEN, replace(OPEN, differences=("d",)), RunReplayed("x", problem="p"), OPEN],
            "2 of 4 runs the same, 1 decided differently, 1 could not be replayed",
        ),
    ],
)
def test_the_runs_are_counted_by_result(seen: list[RunReplayed], words: str) -> None:
    assert total(seen) == words
