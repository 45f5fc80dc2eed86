"""A run is shown with what it waits for, what it used, and because of what it went its way."""

from coterie.activities.contracts import TokenUsage
from coterie.dsl.model.outcomes import Failure
from coterie.rendering.request_text import PendingOfRun, pending_text, request_text
from coterie.rendering.run_text import end_text, status_text, trail_line, usage_text
from coterie.runs.ends.end_facts import RunEnd
from coterie.workflows.core.requests import Decision, Pending, RequestView
from coterie.workflows.core.views import RunStatus, StepInProgress, TeamResult, TrailEntry

AT = "2026-01-02T03:04:05.678+00:00"


def entry(kind: str, **fields: object) -> TrailEntry:
    given = {"number": 7, "at": AT, "kind": kind, "team": "review", "visit": 2, **fields}
    return TrailEntry.model_validate(given)


def result(**changes: object) -> TeamResult:
    made = TeamResult(
        end="completed",
        because="rule 1: all_success",
        plan="p",
        digest="d",
        context={},
        output={"judge": {"verdict": "good"}},
        visits={"review": 2},
        teams_run=2,
        model_calls=1,
        function_calls=0,
        usage=TokenUsage(input_tokens=1000, output_tokens=24),
        decisions=(
            Decision(
                id="review/sign#1",
                verdict="rejected",
                by="ann",
                comment="Again.",
                at=AT,
                how="update",
            ),
        ),
        trail_length=3,
        trail_digest="abc",
    )
    return made.model_copy(update=changes)


def test_a_step_is_reported_with_its_time_and_tokens() -> None:
    line = trail_line(entry("step", step="judge", status="success", seconds=1.5, tokens=1200))
    assert line.endswith("  review#2/judge: success (1.5 s, 1,200 tokens)")
    assert line.startswith("   7  ")


def test_a_route_says_because_what_it_changed_and_whether_the_team_failed() -> None:
    line = trail_line(
        entry(
            "route",
            next_team="coder",
            updated=("a", "b"),
            status="failure",
            because="rule 2: judge.verdict is 'bad'",
        )
    )
    reasons = "review#2 (failed) -> coder, sets a, b, because rule 2: judge.verdict is 'bad'"
    assert line.endswith(reasons)
    assert "the end" in trail_line(entry("route", next_team=None, status="success"))


def test_result_and_cost_show_a_call_without_a_price_as_unpriced() -> None:
    end = RunEnd("completed", result(unpriced=True))
    assert "24 out), unpriced\n" in end_text("r", end)
    dear = RunEnd("completed", result(cost=0.5, unpriced=True))
    assert "24 out), 0.50 USD and unpriced calls\n" in end_text("r", dear)


def test_a_list_and_one_request_tell_the_same_of_escalations_and_of_the_worker() -> None:
    request = Pending(id="a/b#1", prompt="Ok?", since=AT, reminders=1, escalations=2, digest="d")
    listed = pending_text([PendingOfRun("r", request, served=False)], "me")
    whole = request_text("r", RequestView(pending=request), "me", served=False)
    for shown in (listed, whole):
        assert "1 reminder, 2 escalations" in shown
        assert "no worker serves this run" in shown
    served = pending_text([PendingOfRun("r", request)], "me") + request_text(
        "r", RequestView(pending=request), "me"
    )
    assert "no worker" not in served


def test_without_because_a_line_is_short_but_a_decision_keeps_its_reason() -> None:
    assert "because" not in trail_line(entry("team", because="rule 1"), because=False)
    approval = entry("approval", because="review/sign#1 approved by ann: Good.")
    assert "approved by ann: Good." in trail_line(approval, because=False)


def test_a_short_line_is_cut_where_it_is_long_and_a_reason_never() -> None:
    long = entry("approval", because="x" * 500)
    assert len(trail_line(long, because=False)) == 160
    assert trail_line(long, because=False).endswith("...")
    assert "x" * 500 in trail_line(long)


def test_a_request_is_shown_with_what_to_look_at_and_how_to_answer() -> None:
    request = Pending(
        id="review/sign#1",
        prompt="Publish?",
        since=AT,
        approvers=("ann", "bob"),
        show={"text": "two\nlines", "score": 3},
        deadline=AT,
        on_timeout="reject",
    )
    text = pending_text([PendingOfRun("r1", request)], "me")
    assert "r1  review/sign#1\n  > Publish?\n    text:" in text
    assert "    text:\n      two\n      lines\n    score: 3" in text
    assert "may decide: ann, bob" in text
    assert "then: reject" in text
    assert "coterie approve r1 'review/sign#1' --by ann" in text


def test_a_deadline_that_would_approve_a_changed_value_is_shown_to_fail() -> None:
    request = Pending(id="r", prompt="?", since=AT, deadline=AT, on_timeout="approve")
    assert "then: approve" in pending_text([PendingOfRun("r1", request)], "me")
    changed = request.model_copy(update={"edited": True})
    assert "then: fail" in pending_text([PendingOfRun("r1", changed)], "me")


def test_one_request_is_reported_whole_with_its_terms_and_what_happened_so_far() -> None:
    request = Pending(
        id="review/sign#1",
        prompt="Publish?",
        since=AT,
        approvers=("ann", "bob"),
        quorum=2,
        show="y" * 5000,
        digest="0123456789ab",
        deadline=AT,
        on_timeout="late",
        reminders=2,
        escalations=1,
        stood_still=90,
        editable=True,
        payload_schema={"type": "string"},
        changes=("3 -> 4 (ann)",),
        approved_by=("ann",),
    )
    text = request_text("r1", RequestView(pending=request), "me")
    for shown in (
        "y" * 5000,
        "may decide   ann, bob; 2 must approve",
        "approved by  ann",
        "changed      3 -> 4 (ann)",
        "then: late",
        "digest       0123456789ab",
        "meanwhile    2 reminders, 1 escalation, the run was paused for 1 min 30 s",
        "its JSON Schema:\n    type: string",
        "--digest 0123456789ab",
    ):
        assert shown in text, text


def test_long_values_are_shown_by_their_count() -> None:
    request = Pending(id="a", prompt="b", since=AT, show="y" * 5000)
    assert "[1,000 characters more: coterie show r a]" in pending_text(
        [PendingOfRun("r", request)], "me"
    )


def test_a_status_says_where_it_is_and_what_it_used() -> None:
    status = RunStatus(
        plan="p",
        digest="d",
        state="waiting",
        team="review",
        visit=2,
        doing=(StepInProgress(step="review/sign", since=AT),),
        waiting_for=("review/sign#1",),
        teams_run=3,
        max_total_teams=30,
        visits={"writing": 1, "review": 2},
        model_calls=2,
        function_calls=1,
        usage=TokenUsage(),
        last_because="rule 1",
        events=9,
    )
    text = status_text("r1", status)
    assert text.startswith("r1: waiting\n")
    for shown in (
        "team     review, visit 2",
        "waits    for a person: review/sign#1",
        "visits   3 of 30: writing 1, review 2",
        "2 model calls, 1 function call",
        "because  rule 1",
    ):
        assert shown in text


def test_an_end_is_reported_with_decisions_cost_and_output() -> None:
    text = end_text("r1", RunEnd("completed", result()))
    assert text.startswith("r1: completed, because rule 1: all_success\n")
    assert "review/sign#1 rejected by ann" in text
    assert "(update): Again." in text
    assert "1 model call, 0 function calls, 1,024 tokens (1,000 in, 24 out)" in text
    assert "  judge:\n    verdict: good" in text


def test_a_failure_names_its_kind() -> None:
    failed = result(end="failed", error=Failure(type="NoRoute", message="none holds"))
    text = end_text("r1", RunEnd("failed", failed))
    assert "r1: failed, because " in text
    assert "error      NoRoute: none holds" in text
    assert end_text("r1", RunEnd("cancelled")) == "r1: it was cancelled before it started"


def test_cached_tokens_are_reported_when_there_are_any() -> None:
    usage = TokenUsage(input_tokens=10, output_tokens=1, cached_tokens=4)
    assert usage_text(usage) == "11 tokens (10 in, 4 of them cached, 1 out)"
