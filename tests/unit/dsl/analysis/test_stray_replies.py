"""A reply that no message precedes on any path is found, and no other one."""

import pytest

from tests.unit.dsl.analysis.documents import found
from tests.unit.dsl.analysis.session_documents import (
    CALL,
    CHOOSE,
    EACH,
    ENDS,
    GROUP,
    LATE,
    LISTEN,
    LOOK,
    MORE,
    NEVER,
    NEXT,
    OTHER,
    SAY,
    SKIPPED,
    TO_A,
    WELL,
    X_NEXT,
    by_rules,
    team,
)


@pytest.mark.parametrize(
    ("document", "place"),
    [
        (
            team("a", SAY.replace("say", "hi"), "routing: { default: b }")
            + team("b", f"{NEXT}, {SAY}", f"{ENDS}b }}"),
            "W523 2:",
        ),
        (team("a", f"{NEXT}, {SAY}, {SAY.replace('say', 'twice')}", f"{ENDS}a }}"), "W523 2:"),
        (
            LISTEN
            + team(
                "b",
                SAY,
                "routing: { rules: [{ condition: { task: say, status: success }, next_team: c }], "
                "default: a }",
            )
            + team("c", SAY.replace("say", "late"), "routing: { default: a }"),
            "W523 8:",
        ),
    ],
)
def test_a_reply_that_no_message_precedes_is_found(document: str, place: str) -> None:
    stray = [code for code in found(document) if code.startswith("W523")]
    assert len(stray) == 1
    assert stray[0].startswith(place)


@pytest.mark.parametrize(
    ("document", "place"),
    [
        # after a rule that no run follows
        (
            team("a", NEXT, by_rules(NEVER, "{ next_team: b }"))
            + team("b", f"{SAY}, {LATE}", TO_A),
            "W523 5:",
        ),
        # after a block or a branch that replies on every path
        (LISTEN + team("b", f"{GROUP}[WRITE, {SAY}] }}, {LATE}", TO_A), "W523 5:"),
        (
            LISTEN
            + team("b", f"{CHOOSE}steps: [{SAY}] }}], otherwise: [{OTHER}] }}, {LATE}", TO_A),
            "W523 5:",
        ),
        # in a loop, in a team after one that only calls a team
        (
            LISTEN
            + team("b", f"{SAY}, {CALL}, {EACH}[{LATE}] }}", TO_A)
            + team("c", "WRITE", "routing: { default: null }"),
            "W523 5:",
        ),
    ],
)
def test_a_reply_after_the_only_message_was_answered_is_found(document: str, place: str) -> None:
    (stray,) = (code for code in found(document) if code.startswith("W523"))
    assert stray.startswith(place)


@pytest.mark.parametrize(
    "document",
    [
        # one of two branches takes the message, and may fail before its reply
        team("a", f"{CHOOSE}steps: [{NEXT}] }}], otherwise: [{LOOK}] }}, {SAY}"),
        team(
            "a",
            f"{CHOOSE}steps: [{NEXT}, WRITE, {SAY}] }}], otherwise: [{LOOK}], "
            f"on_failure: continue }}, {LATE}",
        ),
        # a rule that no run follows is not the last one
        team("a", NEXT, by_rules(NEVER, "{ next_team: b }"))
        + team("b", SAY, TO_A),
        # one way comes with the message, the other one after its reply, in either order
        team("a", NEXT, by_rules(X_NEXT.format("next", "b"), WELL.format("next", "c")))
        + team("b", SAY, by_rules(WELL.format("say", "c")))
        + team("c", LATE, TO_A),
        LISTEN
        + team("b", SAY, by_rules(X_NEXT.format("say", "c"), WELL.format("say", "d")))
        + team("c", LATE, TO_A)
        + team("d", MORE, by_rules(WELL.format("more", "c"))),
        # a rule leads on after a failure before the reply
        LISTEN
        + team("b", f"WRITE, {SAY}", by_rules("{ condition: any_failure, next_team: c }"))
        + team("c", LATE, TO_A),
        # a called team takes the message
        team("a", CALL, by_rules(WELL.format("call", "b"))) + team("b", SAY) + team("c", NEXT),
        # a step that may fail before its reply, and lets the next one reply
        LISTEN + team("b", f"{GROUP}[WRITE, {SAY}], on_failure: continue }}, {LATE}", TO_A),
        LISTEN
        + team(
            "b",
            f"{CHOOSE}steps: [WRITE, {SAY}] }}], otherwise: [{OTHER}], on_failure: continue }}, "
            f"{LATE}",
            TO_A,
        ),
        LISTEN + team("b", f"{SAY.replace('value', 'on_failure: continue, value')}, {LATE}", TO_A),
        # the next round of a loop replies to what the last one took
        team("a", f"{EACH}[{SKIPPED}, {NEXT}] }}"),
    ],
)  # fmt: skip
def test_a_reply_to_which_some_path_brings_a_message_is_none_to_nobody(document: str) -> None:
    assert [code for code in found(document) if code.startswith("W523")] == []


def test_a_reply_after_a_failure_may_still_answer() -> None:
    document = (
        LISTEN
        + team("b", f"WRITE, {SAY}", "routing: { default: c }")
        + team("c", SAY.replace("say", "sorry"), "routing: { default: a }")
    )
    assert not [code for code in found(document) if code.startswith("W523")]
