"""Reports to MCP clients are small, and have no control characters."""

import json

import pytest
from jsonschema import validate
from pydantic import JsonValue

from coterie.activities.contracts import TokenUsage
from coterie.documents.worker_trust import TrustedConfig
from coterie.dsl.paths import parse
from coterie.failures import CommandError
from coterie.mcp_server.run_reports import (
    MAX_RESULT_SIZE,
    ended_report,
    open_report,
    report_schema,
    report_text,
)
from coterie.runs.ends.end_facts import RunEnd
from coterie.runs.records import RunRecord
from coterie.workflows.core.requests import Pending
from coterie.workflows.core.views import RunStatus, Standing, StepInProgress, TeamResult

RECORD = RunRecord(
    id="r1",
    task_queue="q",
    trusted=TrustedConfig(workspace="/"),
    begun="2026-01-01T00:00:00+00:00",
    mcp_tool="review",
)
BAD = "\x1b[31m\u202e\u2028"
HIDDEN = "\\u001b[31m\\u202e\\u2028"


def done(output: JsonValue) -> RunEnd:
    result = TeamResult(
        end="completed",
        because=f"rule 1 {BAD}",
        plan="p",
        digest="d",
        context={},
        output=output,
        visits={},
        teams_run=1,
        model_calls=0,
        function_calls=0,
        usage=TokenUsage(),
        trail_length=1,
        trail_digest="t",
    )
    return RunEnd("completed", result)


def status(state: Standing = "running", step: str = "talk/next") -> RunStatus:
    return RunStatus(
        plan="p",
        digest="d",
        state=state,
        team="talk",
        visit=1,
        doing=(StepInProgress(step=step, since="12:00:00"),),
        teams_run=1,
        max_total_teams=30,
        visits={},
        model_calls=0,
        function_calls=0,
        usage=TokenUsage(),
        events=1,
    )


def test_no_report_has_a_control_character() -> None:
    ended = ended_report(RECORD, done({BAD: [BAD, {"a": BAD}]}), (), 0)
    assert ended.result == {HIDDEN: [HIDDEN, {"a": HIDDEN}]}
    failed = ended_report(RECORD, RunEnd("failed", details=BAD), (), 0)
    assert (failed.state, failed.because) == ("failed", f"it failed: {HIDDEN}")
    request = Pending(id=f"a/{BAD}#1", prompt=BAD, show={"a": BAD}, since="")
    waiting = open_report(RECORD, status("waiting"), (request,), frozenset())
    for report in (ended, failed, waiting):
        text = report_text(report)
        assert not set(BAD) - set("[31m") & set(text + repr(json.loads(text)))
        validate(report.model_dump(mode="json"), report_schema())


def test_an_approval_names_the_commands_of_a_person() -> None:
    request = Pending(id="review/sign#1", prompt="Publish?", show="x" * 10_000, since="")
    report = open_report(RECORD, status("waiting"), (request,), frozenset())
    assert report.state == "waiting"
    (asked,) = report.approvals
    assert asked.decide.startswith("coterie approve r1 'review/sign#1'   or   coterie reject")
    assert isinstance(asked.show, str)
    assert len(asked.show) <= 4_000


def test_a_session_awaits_a_message_at_its_step_only() -> None:
    messages = frozenset({"talk/next"})
    assert open_report(RECORD, status(), (), messages).state == "awaiting_message"
    assert open_report(RECORD, status(step="talk/work"), (), messages).state == "running"
    assert open_report(RECORD, status("paused"), (), messages).state == "paused"


def test_a_large_result_comes_in_parts() -> None:
    pages: list[JsonValue] = ["p" * 30_000, "q" * 60_000]
    whole = ended_report(RECORD, done({"title": "t", "pages": pages}), (), 0)
    assert not whole.whole
    assert isinstance(whole.result, dict)
    assert whole.result["title"] == "t"
    assert whole.result["pages"] == [
        {"left_out": "a text of 30,000 characters, 30,002 bytes", "path": "pages.0"},
        {"left_out": "a text of 60,000 characters, 60,002 bytes", "path": "pages.1"},
    ]
    assert "path" in whole.next
    first = ended_report(RECORD, done({"pages": pages}), parse("pages.1"), 0)
    assert isinstance(first.result, str)
    assert len(first.result) <= MAX_RESULT_SIZE
    assert first.next_start is not None
    assert first.next_start == len(first.result)
    rest = ended_report(RECORD, done({"pages": pages}), ("pages", "1"), first.next_start)
    assert first.result + str(rest.result) == pages[1]
    assert rest.next_start is None


def test_a_path_that_leads_nowhere_is_refused() -> None:
    with pytest.raises(CommandError, match="nothing lies at 'pages' in the result of run 'r1'"):
        ended_report(RECORD, done({"title": "t"}), ("pages",), 0)
