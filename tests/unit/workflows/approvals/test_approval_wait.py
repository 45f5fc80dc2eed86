"""The wait for a person: what happens in which order while nobody decides, and what follows."""

import asyncio
from collections.abc import Callable

import pytest

from coterie.activities.contracts import Notification
from coterie.dsl.errors import ValueTooLarge
from coterie.dsl.json_values import json_digest
from coterie.dsl.model.causes import NotDecided
from coterie.dsl.model.decision_terms import ApprovalTerms, DecisionTerms
from coterie.dsl.sizes import MAX_SHOWN
from coterie.dsl.values import Json, JsonValue
from coterie.workflows.approvals import decisions
from coterie.workflows.approvals.approval_wait import PersonRequest, ask
from coterie.workflows.core.causes.people_causes import (
    RequestDecided,
    RequestEscalated,
    RequestReminded,
)
from coterie.workflows.core.location import Location, Redirected, Skipped
from coterie.workflows.core.messages import DecideInput
from coterie.workflows.core.requests import Decision, Pending, origin_digest, request_digest
from coterie.workflows.core.scope import Interrupted
from coterie.workflows.core.state_keys import MAIN
from tests.support.compiling import plan_of
from tests.support.simulation.stopping import StoppingScope, World, fresh

PLAN = plan_of("""
orchestration:
  entry_team: work
  notify: pager
  groups: {leads: [dora, ann]}
  teams: {work: {tasks: [{name: s}]}}
""")
HERE = Location.of_visit(MAIN, "work", 1).at("ok")
ID = "work/ok#1"
BEGAN = "2026-01-01T00:00:00.000+00:00"
ORIGIN = origin_digest("test", "first", ID)


class Waiting(StoppingScope):
    """Time passes only while the run waits; a person decides once so many seconds have passed."""

    def __init__(self, decides_at: float | None = None, **decided: JsonValue) -> None:
        super().__init__(PLAN, fresh(PLAN, {}), World(lambda _: {}), None)
        self.decides_at = decides_at
        self.decided: Json = decided
        self.waits: list[tuple[float | None, str]] = []
        self.seen: list[Pending] = []

    async def wait_until(
        self,
        ready: Callable[[], bool],
        seconds: float | None,
        summary: str,
        *,
        boundary: bool = True,
        stands_still: bool = True,
    ) -> bool:
        self.waits.append((seconds, summary))
        self.seen += self.state.pending.values()
        until = None if seconds is None else self.world.seconds + seconds
        if self.decides_at is not None and (until is None or self.decides_at < until):
            self.world.seconds = self.decides_at
            given: Json = {"id": ID, "decision": "approve", "by": "ann", **self.decided}
            asked = DecideInput.model_validate(given)
            decisions.record(self.state, asked, self.now(), "update")
            assert ready()
            return True
        assert not ready()
        assert until is not None, "nobody decides"
        self.world.seconds = until
        return False

    async def ask(self, show: JsonValue = None, **terms: JsonValue) -> Decision | None:
        kind = ApprovalTerms if {"editable", "schema", "digest"} & terms.keys() else DecisionTerms
        asked = PersonRequest("Good?", show, kind.model_validate(terms))
        return await ask(self, HERE, asked)

    def opened(self, **more: JsonValue) -> None:
        """Continue a run whose request is open."""
        given: Json = {"id": ID, "prompt": "Good?", "since": BEGAN, "notified": True, **more}
        self.state.progress.requests[HERE.key] = ID
        self.state.pending[ID] = Pending.model_validate(given)

    def sent(self) -> list[tuple[str, str, int, str]]:
        """What notifications said."""
        messages: list[Notification] = [one.message for one in self.notifications]
        return [(one.channel, one.what, one.number, one.text) for one in messages]


async def test_a_decision_closes_the_request_and_the_trail_has_the_time_it_took() -> None:
    scope = Waiting(90, comment="fine")
    decision = await scope.ask({"n": 1})
    assert decision == Decision(
        id=ID,
        verdict="approved",
        by="ann",
        comment="fine",
        at="2026-01-01T00:01:30.000+00:00",
        how="update",
        digest=request_digest(ORIGIN, "Good?", {"n": 1}),
    )
    assert scope.waits == [(None, f"decision of {ID}")]
    assert [(one.status, one.seconds, one.cause) for one in scope.state.trail] == [
        ("approved", 90.0, RequestDecided("decided", ID, "approved", "ann", "fine"))
    ]
    assert scope.sent() == [("pager", "request", 1, f"{ID} waits for a decision")]
    assert (scope.state.pending, scope.state.progress.requests, scope.state.unread) == ({}, {}, [])


async def test_people_see_the_whole_request() -> None:
    scope = Waiting(1)
    schema: Json = {"type": "object"}
    await scope.ask(
        {"n": 1},
        approvers=["leads", "bob"],
        quorum=1,
        deadline=3600,
        on_timeout="fail",
        editable=True,
        schema=schema,
        digest="required",
        via="mcp",
    )
    assert scope.seen == [
        Pending(
            id=ID,
            prompt="Good?",
            show={"n": 1},
            digest=request_digest(ORIGIN, "Good?", {"n": 1}),
            origin=ORIGIN,
            digest_required=True,
            approvers=("dora", "ann", "bob"),
            editable=True,
            payload_schema=schema,
            since=BEGAN,
            deadline="2026-01-01T01:00:00.000+00:00",
            on_timeout="fail",
            notified=True,
            via="mcp",
        )
    ]


async def test_a_request_without_a_deadline_shows_neither_it_nor_a_schema_of_fixed_values() -> None:
    scope = Waiting(1)
    await scope.ask({"n": 1}, on_timeout="approve", editable=False)
    (request,) = scope.seen
    assert (request.deadline, request.on_timeout, request.payload_schema) == (None, None, None)


@pytest.mark.parametrize(
    ("terms", "expected"),
    [
        (
            {"remind_every": 40, "deadline": 100},
            [(40, "remind"), (40, "remind"), (20, "deadline")],
        ),
        (
            {"remind_every": 50, "deadline": 100, "escalate": [{"after": 50, "to": ["eve"]}]},
            [(50, "escalate"), (0, "remind"), (50, "remind"), (0, "deadline")],
        ),
        (
            {"deadline": 9, "escalate": [{"after": 2, "to": ["eve"]}, {"after": 5, "to": ["gus"]}]},
            [(2, "escalate"), (3, "escalate"), (4, "deadline")],
        ),
    ],
)
async def test_what_happens_while_nobody_decides_comes_in_order(
    terms: Json, expected: list[tuple[float, str]]
) -> None:
    scope = Waiting()
    await scope.ask(**terms)
    assert scope.waits == [(seconds, f"{what} of {ID}") for seconds, what in expected]


async def test_reminders_and_escalations_are_counted_noted_and_sent() -> None:
    scope = Waiting(95)
    escalate: list[JsonValue] = [{"after": 60, "to": ["leads", "Bob"]}]
    await scope.ask(approvers=["bob"], remind_every=40, escalate=escalate)
    assert [(one.status, one.cause) for one in scope.state.trail[:-1]] == [
        ("reminded", RequestReminded("reminded", ID, 1)),
        ("escalated", RequestEscalated("escalated", ID, ("dora", "ann", "Bob"))),
        ("reminded", RequestReminded("reminded", ID, 2)),
    ]
    assert [(what, number) for _, what, number, _ in scope.sent()] == [
        ("request", 1),
        ("reminder", 1),
        ("escalation", 1),
        ("reminder", 2),
    ]
    latest = scope.seen[-1]
    assert (latest.reminders, latest.escalations) == (2, 1)
    assert latest.approvers == ("bob", "dora", "ann")


async def test_an_escalation_of_a_request_that_anyone_decides_names_nobody() -> None:
    scope = Waiting(20)
    await scope.ask(escalate=[{"after": 5, "to": ["eve"]}])
    assert scope.seen[-1].approvers == ()


async def test_pauses_do_not_count_toward_the_deadline() -> None:
    scope = Waiting()
    scope.opened(stood_still=30.0)
    await scope.ask(deadline=100)
    assert scope.waits == [(130, f"deadline of {ID}")]


@pytest.mark.parametrize(
    ("show", "terms", "verdict"),
    [
        (1, {"on_timeout": "approve"}, "approved"),
        (1, {"on_timeout": "reject"}, "rejected"),
        (1, {}, "rejected"),
        (1, {"on_timeout": "fail"}, None),
        (1, {"on_timeout": "approve", "editable": True, "schema": {"type": "text"}}, None),
        (
            "x",
            {"on_timeout": "approve", "editable": True, "schema": {"type": "integer"}},
            None,
        ),
        (1, {"on_timeout": "approve", "editable": True, "schema": {"type": "integer"}}, "approved"),
    ],
)
async def test_a_missing_decision_means_what_the_terms_say(
    show: JsonValue, terms: Json, verdict: str | None
) -> None:
    scope = Waiting()
    decision = await scope.ask(show, deadline=60, **terms)
    assert (None if decision is None else decision.verdict) == verdict
    outcome = terms.get("on_timeout", "reject") if verdict is not None else "fail"
    assert scope.sent()[-1] == ("pager", "timeout", 1, f"nobody decided {ID} in time: {outcome}")
    if decision is not None:
        assert (decision.by, decision.how) == ("deadline", "deadline")
        assert decision.comment == "nobody decided in time"
    else:
        last = scope.state.trail[-1]
        assert (last.status, last.cause) == ("failure", NotDecided("timed_out", ID))
    assert scope.state.pending == {}


async def test_a_missing_decision_may_lead_to_another_team() -> None:
    scope = Waiting()
    with pytest.raises(Redirected) as redirected:
        await scope.ask(deadline=60, on_timeout="rest")
    assert (redirected.value.team, redirected.value.cause) == ("rest", NotDecided("timed_out", ID))
    assert scope.state.pending == {}


async def test_no_deadline_approves_a_value_that_too_few_have_approved_after_a_change() -> None:
    scope = Waiting()
    scope.opened(edited=True, approved_by=["ann"])
    assert await scope.ask(deadline=60, on_timeout="approve", quorum=2) is None


@pytest.mark.parametrize(
    ("remember", "show", "asks"), [(True, 1, False), (True, 2, True), (False, 1, True)]
)
async def test_an_equal_question_is_answered_by_a_remembered_approval(
    remember: bool, show: int, asks: bool
) -> None:
    scope = Waiting(10)
    await scope.ask(1, remember=remember)
    scope.waits.clear()
    scope.decided = {"id": "work/ok#2"}
    scope.decides_at = 20
    decision = await scope.ask(show, remember=remember)
    assert decision is not None
    assert bool(scope.waits) is asks
    expected = ("update", "", "ann") if asks else ("remembered", f"as in {ID}", "ann")
    assert (decision.how, decision.comment, decision.by) == expected
    assert decision.id == "work/ok#2"


@pytest.mark.parametrize(("tool", "answers"), [("post", True), ("send", False), (None, False)])
async def test_an_approval_of_a_tool_answers_its_calls_anywhere_in_the_run(
    tool: str | None, answers: bool
) -> None:
    scope = Waiting(10)
    terms = DecisionTerms(remember=True)
    await ask(scope, HERE, PersonRequest("Good?", 1, terms, tool="post"))
    (kept,) = scope.state.remembered
    assert kept == f"tool post {json_digest('Good?', 1)}"
    scope.waits.clear()
    elsewhere = Location.of_visit(MAIN, "work", 1).at("other")
    scope.decides_at = 20
    scope.decided = {"id": "work/other#1"}
    asked = PersonRequest("Good?", 1, terms, tool=tool)
    await ask(scope, elsewhere, asked)
    assert (scope.waits == []) is answers


async def test_an_approval_of_a_step_answers_only_questions_of_this_step() -> None:
    scope = Waiting(10)
    await scope.ask(1, remember=True)
    assert list(scope.state.remembered) == [f"work/ok {json_digest('Good?', 1)}"]


async def test_a_run_continues_as_new_while_it_asks_and_not_in_the_middle_of_a_call() -> None:
    scope = Waiting(10)
    scope.left = 0
    with pytest.raises(Interrupted):
        await scope.ask()
    assert list(scope.state.pending) == [ID], "the next history goes on with it"
    assert (await ask(scope, HERE, PersonRequest("Good?"), boundary=False)) is not None


async def test_nothing_too_large_is_shown() -> None:
    most = MAX_SHOWN - len('["Good?",""]')
    assert await Waiting(1).ask("x" * most) is not None
    with pytest.raises(ValueTooLarge, match="what 'ok' shows to a person"):
        await Waiting(1).ask("x" * (most + 1))


async def test_a_request_that_nobody_waits_for_any_more_is_withdrawn() -> None:
    class Stopped(Waiting):
        async def wait_until(self, *_: object, **__: object) -> bool:  # type: ignore[override]
            raise asyncio.CancelledError

    scope = Stopped()
    with pytest.raises(asyncio.CancelledError):
        await scope.ask()
    assert scope.state.pending == {}


SKIPPED = Decision(id=ID, verdict="skipped", by="ann", at=BEGAN, how="update")


async def test_a_person_who_skips_a_step_skips_its_request() -> None:
    scope = Waiting()
    scope.state.progress.requests[HERE.key] = ID
    scope.state.decide(SKIPPED)
    with pytest.raises(Skipped):
        await scope.ask()


async def test_a_failed_task_may_be_skipped_by_a_decision() -> None:
    scope = Waiting()
    scope.state.progress.requests[HERE.key] = ID
    scope.state.decide(SKIPPED)
    asked = PersonRequest("Good?", choices=("retry", "skip"))
    assert await ask(scope, HERE, asked) == SKIPPED
