"""A request whose condition held says what the condition found, wherever it is shown."""

import io
from collections.abc import Callable, Mapping
from datetime import UTC, datetime

import pytest

from coterie.display.following.live import LiveView, SafeConsole
from coterie.display.following.plain_view import PlainView
from coterie.dsl.model.causes import FieldFound
from coterie.dsl.model.outcomes import Failure
from coterie.mcp_server.client_questions import McpClient, questions_for
from coterie.mcp_server.run_reports import waiting_approval
from coterie.rendering.request_text import (
    PendingOfRun,
    pending_text,
    request_text,
    shown_text,
)
from coterie.rendering.run_text import trail_line
from coterie.runs.run_view import RunView
from coterie.ui.dialogs import DialogSubjects
from coterie.ui.panes import request_lines
from coterie.workflows.core.causes.people_causes import ApprovalAsked
from coterie.workflows.core.causes.trail_because import asked_because
from coterie.workflows.core.requests import Pending, RequestView
from coterie.workflows.core.state import TrailRecord

HELD = ApprovalAsked(
    "approval_asked",
    "pay/it",
    FieldFound("field", "context.amount", "greater_than", 100, 120),
)
FAILED = ApprovalAsked(
    "approval_asked", "pay/it", failure=Failure("TemplateFailed", "context.amount is \x1b missing")
)
FOUND = "context.amount is 120 (greater_than 100)"


def request(asked: ApprovalAsked | None) -> Pending:
    return Pending(
        id="pay/it#1",
        prompt="Pay?",
        show={"to": "ann"},
        since="2026-01-02T03:04:05.678+00:00",
        via="mcp",
        asked=asked,
        asked_because="" if asked is None else asked_because(asked),
    )


def _live(one: Pending) -> str:
    file = io.StringIO()
    view = LiveView("r", color=False, console=SafeConsole(file=file, width=120, no_color=True))
    view.show(one)
    view.close()
    return file.getvalue()


def _board(one: Pending) -> str:
    seen = RunView("r", datetime.now(UTC), pending=(one,), selected=one.id)
    return "\n".join(line.text for line in request_lines(seen, 110, None))


def _dialog(one: Pending) -> str:
    subject = DialogSubjects("r", "me", None).request(one, "approve")
    return "\n".join(line.text for line in subject.lines(110))


def _trail(one: Pending) -> str:
    record = TrailRecord(1, 0.0, "approval", "pay", 1, "it", "asked", one.asked)
    return trail_line(record.to_entry())


PLACES: Mapping[str, Callable[[Pending], str]] = {
    "pending": lambda one: pending_text([PendingOfRun("r", one)], "me"),
    "show": lambda one: request_text("r", RequestView(pending=one), "me"),
    "approve": lambda one: shown_text("r", one, None),
    "question at a terminal": _live,
    "board": _board,
    "dialog": _dialog,
    "report over MCP": lambda one: waiting_approval("r", one, None).model_dump_json(),
    "form over MCP": lambda one: questions_for([one], McpClient(answers=True), None)[0].message,
    "why": _trail,
}


@pytest.mark.parametrize("place", PLACES)
def test_what_the_condition_found_is_shown_wherever_a_request_is(place: str) -> None:
    shown = PLACES[place](request(HELD))
    assert FOUND in shown
    assert place == "why" or "because" in shown
    assert place == "why" or "because" not in PLACES[place](request(None)).replace("_because", "")


@pytest.mark.parametrize("place", PLACES)
def test_a_condition_that_failed_is_shown_without_control_characters(place: str) -> None:
    shown = PLACES[place](request(FAILED))
    assert "its condition failed: context.amount is" in shown
    assert "\x1b" not in shown


def test_plain_lines_say_what_the_condition_found(capsys: pytest.CaptureFixture[str]) -> None:
    PlainView("r").show(request(HELD))
    assert f"asked because {FOUND}" in capsys.readouterr().err
