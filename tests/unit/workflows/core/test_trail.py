"""The trail: where, when and why something happened, in one entry for each event."""

from dataclasses import replace

import pytest

from coterie.activities.contracts import Notification
from coterie.dsl.evaluate.context_writes import ContextWrite
from coterie.dsl.model.causes import RuleMatched
from coterie.workflows.core.causes.message_causes import MessageRefused, NotificationLost
from coterie.workflows.core.causes.step_causes import StepStated
from coterie.workflows.core.location import Location
from coterie.workflows.core.state import RunState, TrailRecord
from coterie.workflows.core.state_keys import MAIN
from coterie.workflows.core.state_parts import PendingNotification
from coterie.workflows.core.trail import (
    note_budget,
    note_cleanup_failure,
    note_control,
    note_refusal,
    note_request,
    note_route,
    note_step,
    note_step_end,
    note_undelivered,
    note_visit,
    skip_cause,
)
from coterie.workflows.core.views import CollectedFiles
from tests.support.compiling import plan_of
from tests.support.simulation.stopping import BEGAN, StoppingScope, World

PLAN = plan_of("orchestration: {entry_team: a, teams: {a: {event: begun, tasks: [{name: s}]}}}")
VISIT = Location.of_visit(MAIN, "a", 2)
STEP = VISIT.at("s")
CAUSE = StepStated("not_needed")
AT = BEGAN.timestamp() + 7


def _scope() -> StoppingScope:
    state = RunState()
    state.main.team, state.main.visit = "a", 2
    return StoppingScope(PLAN, state, World(lambda _: {}, seconds=7), None)


def _entry(kind: str, step: str | None, status: str | None, **more: object) -> TrailRecord:
    entry = TrailRecord(1, AT, "step", "a", 2, step, status, CAUSE)
    return replace(entry, kind=kind, **more)


def test_every_event_is_noted_with_its_place_time_and_cause() -> None:
    scope = _scope()
    found = CollectedFiles(files=1, estimated_tokens=2)
    writes = (
        ContextWrite("x", 1),
        ContextWrite("y", 1),
        ContextWrite("x", 2),
    )
    note_visit(scope, VISIT, RuleMatched("rule", 1))
    note_route(scope, VISIT, CAUSE, "routed", ("b", "c"), writes)
    note_route(scope, VISIT, CAUSE, "routed", "b")
    note_route(scope, VISIT, CAUSE, "completed")
    note_step(scope, STEP, "retried", CAUSE, 1.5, event="tool_retry")
    note_step_end(scope, STEP, "success", CAUSE, AT - 1.23456, 9, found, writes, "tool_end")
    note_step_end(scope, STEP, "success", CAUSE, None)
    note_request(scope, STEP, "asked", CAUSE)
    note_request(scope, STEP, "approved", CAUSE, AT - 1.23456)
    note_budget(scope, STEP, "routed", CAUSE, "b")
    note_cleanup_failure(scope, VISIT, CAUSE)
    note_control(scope.state, scope.now(), CAUSE, status="paused", updated=("x",))
    note_refusal(scope.state, scope.now(), CAUSE, "closed")
    assert [replace(one, number=1) for one in scope.state.trail] == [
        _entry("team", None, None, cause=RuleMatched("rule", 1), event="begun"),
        _entry("route", None, "routed", next_team="b, c", updated=("x", "y")),
        _entry("route", None, "routed", next_team="b"),
        _entry("route", None, "completed"),
        _entry("step", "s", "retried", seconds=1.5, event="tool_retry"),
        _entry(
            "step",
            "s",
            "success",
            seconds=1.235,
            tokens=9,
            found=found,
            updated=("x", "y"),
            event="tool_end",
        ),
        _entry("step", "s", "success"),
        _entry("approval", "s", "asked"),
        _entry("approval", "s", "approved", seconds=1.235),
        _entry("budget", "s", "routed", next_team="b"),
        _entry("control", None, "failed"),
        _entry("control", None, "paused", updated=("x",)),
        _entry("refused", None, "closed"),
    ]
    assert [one.number for one in scope.state.trail] == list(range(1, 14))


def test_a_run_that_has_no_team_yet_refuses_messages_for_the_whole_run() -> None:
    state, cause = RunState(), MessageRefused("refused", "Malformed", "no JSON")
    note_refusal(state, BEGAN, cause)
    assert state.trail == [
        TrailRecord(1, BEGAN.timestamp(), "refused", "", state.main.visit, None, None, cause)
    ]


def test_the_digest_of_the_trail_covers_what_was_written() -> None:
    digests: set[str] = set()
    for writes in ((), (ContextWrite("x", 1),), (ContextWrite("x", 2),)):
        scope = _scope()
        note_step_end(scope, STEP, "success", CAUSE, None, writes=writes)
        digests.add(scope.state.trail_digest)
    assert len(digests) == 3


def test_a_notification_that_reaches_nobody_is_noted_where_it_was_sent() -> None:
    state = _scope().state
    message = Notification(
        id="1",
        channel="mail",
        what="request",
        text="t",
        run="r",
        plan="p",
        request="a/s#1",
        prompt="?",
        digest="d",
        since="now",
    )
    note_undelivered(state, 5.0, PendingNotification(message, "1", "b", 3, "s"), "no route")
    cause = NotificationLost("notice_failed", "mail", "request", "a/s#1", "no route")
    assert state.trail == [TrailRecord(1, 5.0, "notice", "b", 3, "s", "failure", cause)]


@pytest.mark.parametrize(
    ("value", "code"), [(None, "skipped_by_person"), (0, "skipped_with_value")]
)
def test_a_skip_says_whether_a_person_gave_a_value(value: int | None, code: str) -> None:
    assert skip_cause(value).code == code
