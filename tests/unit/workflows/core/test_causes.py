"""Causes: a digest covers their facts and no wording, and an answer shows as much as fits."""

from dataclasses import MISSING, fields, replace
from typing import Any, cast, get_args

import pytest

from coterie.dsl.errors import LimitExceeded
from coterie.dsl.model.causes import (
    ConditionFound,
    DefaultTaken,
    ExpressionFound,
    FieldFound,
    GroupFound,
    NegatedFound,
    RouteCause,
    RuleMatched,
    SentOn,
    ValueFound,
)
from coterie.dsl.model.outcomes import Failure
from coterie.dsl.task_graph.task_causes import GraphTaskEnded
from coterie.workflows.core.causes.agent_causes import ConversationCompacted
from coterie.workflows.core.causes.message_causes import MessageRefused
from coterie.workflows.core.causes.people_causes import Amended, AmendRefused, NotBegun
from coterie.workflows.core.causes.step_causes import Failed, run_ended
from coterie.workflows.core.causes.trail_because import trail_because
from coterie.workflows.core.causes.trail_causes import TrailCause, shortened, without_wording
from coterie.workflows.core.state import RunState, TrailRecord, cause_facts

FOUND = FieldFound("field", "review.status", "equals", "FAIL", "FAIL")


def digest(cause: TrailCause) -> str:
    state = RunState()
    state.note(TrailRecord(1, 0.0, "route", "review", 1, cause=cause))
    return state.trail_digest


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (Failed("failed", Failure("Timeout", "slow")), Failed("failed", Failure("Timeout", "x"))),
        (DefaultTaken("default", "a", "b", "E", "slow"), DefaultTaken("default", "a", "b", "E")),
        (
            run_ended(LimitExceeded("much", limit="no_progress", allowed=1)),
            run_ended(LimitExceeded("x", limit="no_progress", allowed=1)),
        ),
        (MessageRefused("refused", "Malformed", "no JSON"), MessageRefused("refused", "Malformed")),
    ],
)
def test_digest_is_the_same_when_only_words_differ(one: TrailCause, other: TrailCause) -> None:
    assert one != other
    assert digest(one) == digest(other)
    assert without_wording(one) == without_wording(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (RuleMatched("rule", 1, FOUND), RuleMatched("rule", 2, FOUND)),
        (RuleMatched("rule", 1, FOUND), RuleMatched("rule", 1)),
        (Failed("failed", Failure("Timeout", "x")), Failed("failed", Failure("Refused", "x"))),
        (
            run_ended(LimitExceeded("x", limit="no_progress", allowed=1)),
            run_ended(LimitExceeded("x", limit="max_total_teams", allowed=1)),
        ),
        (SentOn("redirected", "a", "ann"), SentOn("redirected", "a", "ben")),
    ],
)
def test_digest_differs_when_a_fact_differs(one: TrailCause, other: TrailCause) -> None:
    assert digest(one) != digest(other)


@pytest.mark.parametrize(
    ("cause", "facts"),
    [
        (None, b""),
        (
            RuleMatched("rule", 1, FOUND),
            b'{"code":"rule","number":1,"condition":{"code":"field","name":"review.status",'
            b'"operator":"equals","wanted":"FAIL","found":"FAIL"}}',
        ),
        (RuleMatched("rule", 1), b'{"code":"rule","number":1}'),
        (
            Failed("failed", Failure("Timeout", "slow")),
            b'{"code":"failed","failure":{"type":"Timeout"}}',
        ),
        (
            Failed("failed", Failure("\ud800", "slow")),
            b'{"code": "failed", "failure": {"type": "\\ud800"}}',
        ),
        (
            SentOn("redirected", "a", "\ud800"),
            b'{"code": "redirected", "team": "a", "by": "\\ud800"}',
        ),
        (
            MessageRefused("refused", "Malformed", "\ud800"),
            b'{"code":"refused","refusal":"Malformed"}',
        ),
    ],
    ids=[
        "none",
        "all",
        "defaults",
        "failure",
        "half of a surrogate pair",
        "half and defaults",
        "only in the wording",
    ],
)
def test_facts_of_a_cause_have_neither_defaults_nor_wording(
    cause: TrailCause | None, facts: bytes
) -> None:
    assert cause_facts(cause) == facts


@pytest.mark.parametrize(
    ("cause", "shown"),
    [
        (None, None),
        (RuleMatched("rule", 1, FOUND), RuleMatched("rule", 1, FOUND)),
        (Failed("failed", Failure("E", "slow")), Failed("failed", Failure("E", ""))),
        (
            GraphTaskEnded("task_failed", "a", 2, Failure("E", "slow")),
            GraphTaskEnded("task_failed", "a", 2, Failure("E", "")),
        ),
        (GraphTaskEnded("task_completed", "a"), GraphTaskEnded("task_completed", "a")),
        (
            MessageRefused("refused", "Malformed", "no JSON"),
            MessageRefused("refused", "Malformed", ""),
        ),
    ],
    ids=["none", "no wording", "failure", "failed task", "task", "message"],
)
def test_a_cause_beside_its_text_repeats_no_wording(
    cause: TrailCause | None, shown: TrailCause | None
) -> None:
    assert without_wording(cause) == shown


def test_long_cause_is_cut_down_to_what_an_answer_can_show_and_keeps_its_code() -> None:
    paths = tuple(f"{number}.{'x' * 300}" for number in range(100))
    refused = AmendRefused("amend_refused", Amended("amended", paths, "ann", "y" * 2000), "no")
    short = shortened(refused)
    assert isinstance(short, AmendRefused)
    assert len(cause_facts(short)) < 5_000
    assert short.asked.paths == tuple(path[:200] for path in paths[:20])
    assert (short.asked.by, short.asked.why) == ("ann", "y" * 200)
    assert shortened(RuleMatched("rule", 7, FOUND)) == RuleMatched("rule", 7)
    assert shortened(None) is None


def test_every_cause_of_a_route_is_a_cause_of_the_trail() -> None:
    routes, trail = (set(get_args(get_args(union)[0])) for union in (RouteCause, TrailCause))
    assert routes < trail


def test_codes_tell_causes_apart() -> None:
    codes = [
        code
        for cause in get_args(get_args(TrailCause)[0])
        for code in get_args(cause.__annotations__["code"])
    ]
    assert len(codes) == len(set(codes)) > 40


ASKED = ExpressionFound(
    "expression",
    "{{ arguments.amount > context.limit }}",
    (ValueFound("arguments.amount", 20), ValueFound("context.limit", 100)),
)
CONDITIONAL = [
    (kind, code)
    for kind in get_args(get_args(TrailCause)[0])
    if "condition" in kind.__annotations__
    for code in get_args(kind.__annotations__["code"])
]
"""`(type, code)` of every cause that a condition decides."""


def conditional(kind: type[TrailCause], code: str, found: ConditionFound) -> TrailCause:
    """Such a cause, with the first allowed value of each other field that has no default."""
    given: dict[str, object] = {"code": code, "condition": found}
    for one in fields(kind):
        if one.default is MISSING and one.name not in given:
            allowed = get_args(one.type)
            given[one.name] = allowed[0] if allowed else 1 if one.type is int else "a/b"
    return cast("TrailCause", cast("Any", kind)(**given))


@pytest.mark.parametrize(("kind", "code"), CONDITIONAL)
@pytest.mark.parametrize(
    "found", [ASKED, GroupFound("any_of", (FOUND, ASKED)), NegatedFound("not", ASKED)]
)
def test_a_condition_is_worded_with_the_values_that_it_found(
    kind: type[TrailCause], code: str, found: ConditionFound
) -> None:
    words = trail_because(conditional(kind, code, found))
    assert "arguments.amount is 20, context.limit is 100" in words
    assert "{{" not in words


@pytest.mark.parametrize(("kind", "code"), CONDITIONAL)
def test_digest_does_not_cover_the_values_of_expressions(kind: type[TrailCause], code: str) -> None:
    other = NegatedFound("not", replace(ASKED, values=(ValueFound("run.id", "r-1"),)))
    one = conditional(kind, code, NegatedFound("not", ASKED))
    assert digest(one) == digest(conditional(kind, code, other))
    assert digest(one) != digest(conditional(kind, code, ASKED))


def test_because_of_a_team_that_is_not_begun_names_the_team_and_who_led_elsewhere() -> None:
    cause = NotBegun("not_begun", "b", SentOn("redirected", "c", "ann", "too dear"))
    assert trail_because(cause) == "b does not start: redirected to c by ann: too dear"


@pytest.mark.parametrize(
    ("cause", "because"),
    [
        (
            Failed("when_failed", Failure("TemplateFailed", "x has no value")),
            "when: x has no value",
        ),
        (Failed("branch_failed", Failure("E", "no")), "no"),
        (Failed("failed", Failure("E", "no")), "E: no"),
        (
            ConversationCompacted("window_exceeded", 0, 0, "a/b", 1, 2),
            "the next request exceeds the context window; "
            "a/b sums 1 turn up, and the latest 2 stay",
        ),
        (
            ConversationCompacted("compaction_due", 2_000, 1_500, "a/b", 3, 2),
            "the next request would have about 2,000 tokens, more than 1,500; "
            "a/b sums 3 turns up, and the latest 2 stay",
        ),
    ],
)
def test_a_cause_is_worded_in_one_sentence(cause: TrailCause, because: str) -> None:
    assert trail_because(cause) == because
