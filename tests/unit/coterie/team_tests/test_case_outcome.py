"""What a finished run hands to the expectations of its test."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from temporalio.client import WorkflowFailureError
from temporalio.exceptions import ApplicationError, TerminatedError

from coterie.activities.contracts import Notification, TokenUsage
from coterie.dsl.model.outcomes import Failure
from coterie.testing.simulation.case_outcome import CaseOutcome, outcome_of
from coterie.testing.simulation.stub_notifications import StubNotifications
from coterie.workflows.core.views import CostReport, CostRow, RunStatus
from tests.unit.coterie.runs.test_run_client import RESULT, Server, page, run_on

START = datetime(2026, 1, 2, tzinfo=UTC)
STATUS = RunStatus(
    plan="p",
    digest="d",
    state="done",
    team=None,
    visit=None,
    teams_run=2,
    max_total_teams=9,
    visits={"t": 2},
    model_calls=3,
    function_calls=4,
    usage=TokenUsage(input_tokens=5, output_tokens=6),
    cost=0.5,
    events=1,
)
COST = CostReport(
    total=CostRow(name="", calls=3),
    models=(CostRow(name="a/free", calls=1), CostRow(name="a/new", calls=2, unpriced=2)),
)
SENT = Notification.model_construct(id="n1")


async def outcome(folder: Path, end: Any, *queried: Any, seconds: float | None = 90) -> CaseOutcome:
    close = None if seconds is None else START + timedelta(seconds=seconds)
    server = Server(
        result=[end],
        query=list(queried),
        describe=[SimpleNamespace(start_time=START, close_time=close)],
    )
    notifications = StubNotifications()
    await notifications.notify(SENT)
    stage = SimpleNamespace(notifications=notifications, folder=folder)
    return await outcome_of(run_on(server), cast("Any", stage))


async def test_an_outcome_has_what_the_run_returned_and_counted(tmp_path: Path) -> None:
    result = RESULT.model_copy(update={"output": [1], "error": Failure("E", "odd")})
    trail = page(1, 2, more=False)
    assert await outcome(tmp_path, result, STATUS, trail) == CaseOutcome(
        end="completed",
        because="no team follows",
        error=Failure("E", "odd"),
        context={"a": 1},
        output=[1],
        visits={"t": 2},
        teams_run=2,
        model_calls=3,
        function_calls=4,
        tokens=11,
        cost=0.5,
        unpriced=(),
        trail=trail.entries,
        notifications=(SENT,),
        duration=90.0,
        folder=tmp_path,
    )


@pytest.mark.parametrize(
    ("cause", "because", "error"),
    [
        (ApplicationError("no", type="RunRefused"), "RunRefused: no", Failure("RunRefused", "no")),
        (TerminatedError("by ann"), "it was terminated: by ann", None),
    ],
)
async def test_a_run_without_a_result_ended_because_of_its_failure(
    tmp_path: Path, cause: Exception, because: str, error: Failure | None
) -> None:
    end = WorkflowFailureError(cause=cause)
    found = await outcome(tmp_path, end, STATUS, page(more=False), seconds=None)
    assert (found.end, found.because, found.error) == ("failed", because, error)
    assert (found.context, found.output, found.duration) == (None, None, 0.0)


async def test_an_outcome_names_the_models_that_have_no_price(tmp_path: Path) -> None:
    unpriced = STATUS.model_copy(update={"unpriced": True})
    found = await outcome(tmp_path, RESULT, unpriced, page(more=False), COST)
    assert found.unpriced == ("a/new",)


async def test_a_file_that_is_missing_or_no_text_has_no_text(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("ä", encoding="utf-8")
    (tmp_path / "bytes").write_bytes(b"\xff\xfe")
    found = await outcome(tmp_path, RESULT, STATUS, page(more=False))
    names = ("text", "bytes", "absent", ".")
    assert [found.text_of(name) for name in names] == ["ä", None, None, None]
