"""How the ends of runs and of visits are worded, from their facts."""

from dataclasses import replace

import pytest

from coterie.dsl.model.outcomes import Failure
from coterie.runs.ends.end_facts import RunEnd, VisitEnd
from coterie.runs.ends.end_words import incomplete_reason, run_end_line, visit_end_line
from coterie.workflows.core.views import TeamResult
from tests.unit.coterie.runs.test_recorded_effects import RESULT

DONE = TeamResult.model_validate(RESULT)
BROKE = Failure("TeamFailed", "task 'a' failed")


def ended(end: str, because: str) -> TeamResult:
    return DONE.model_copy(update={"end": end, "because": because})


@pytest.mark.parametrize(
    ("end", "line", "reason"),
    [
        (RunEnd("completed", DONE), "completed, because no route", ""),
        (
            RunEnd("failed", ended("failed", "rule 1"), BROKE),
            "failed, because rule 1",
            "TeamFailed: task 'a' failed",
        ),
        (
            RunEnd("failed", ended("budget_money", "it is used up"), BROKE),
            "ended with budget_money, because it is used up",
            "TeamFailed: task 'a' failed",
        ),
        (RunEnd("failed", None, BROKE), *["TeamFailed: task 'a' failed"] * 2),
        (RunEnd("cancelled", ended("cancelled", "cancelled by ann")), *["cancelled by ann"] * 2),
        (RunEnd("cancelled"), *["it was cancelled before it started"] * 2),
        (
            RunEnd("cancelled", details="no worker"),
            *["it was cancelled; its result is unknown: no worker"] * 2,
        ),
        (RunEnd("terminated", details="too old"), *["it was terminated: too old"] * 2),
        (RunEnd("timed out"), *["it timed out"] * 2),
    ],
    ids=lambda value: value.state if isinstance(value, RunEnd) else "",
)
def test_an_end_of_a_run_is_worded_from_its_facts(end: RunEnd, line: str, reason: str) -> None:
    assert run_end_line("r1", end) == f"r1: {line}"
    assert incomplete_reason(end) == reason


@pytest.mark.parametrize(
    ("end", "outcome"),
    [
        (RunEnd("completed", DONE), "completed"),
        (RunEnd("failed", ended("budget_money", "it is used up")), "budget_money"),
        (RunEnd("failed", None, BROKE), "failed"),
        (RunEnd("cancelled", ended("cancelled", "cancelled by ann")), "cancelled"),
        (RunEnd("cancelled"), "cancelled"),
        (RunEnd("terminated"), "failed"),
        (RunEnd("timed out"), "failed"),
    ],
)
def test_a_run_without_a_result_has_the_nearest_outcome(end: RunEnd, outcome: str) -> None:
    assert end.outcome == outcome


VISIT = VisitEnd("review", 2, "success", "rule 1")


@pytest.mark.parametrize(
    ("end", "line"),
    [
        (replace(VISIT, next_team="write"), "review#2 -> write, because rule 1"),
        (
            replace(VISIT, status="failure", updated=("a", "b")),
            "review#2 (failed) -> the end, sets a, b, because rule 1",
        ),
        (replace(VISIT, status="stopped"), "review#2 was stopped: rule 1"),
        (
            replace(VISIT, status="left", run="cancelled"),
            "review#2 was left when the run was cancelled",
        ),
        (
            replace(VISIT, status="left", run="timed out"),
            "review#2 was left when the run timed out",
        ),
        (
            replace(VISIT, status="TeamFailed"),
            "the run ends at review#2 with TeamFailed, because rule 1",
        ),
        (
            replace(VISIT, visit=0, status="LimitExceeded"),
            "the run ends before review with LimitExceeded, because rule 1",
        ),
    ],
    ids=lambda value: value.status if isinstance(value, VisitEnd) else "",
)
def test_an_end_of_a_visit_is_worded_from_its_facts(end: VisitEnd, line: str) -> None:
    assert visit_end_line(end) == line


def test_the_end_of_a_visit_is_worded_without_its_reason() -> None:
    assert visit_end_line(VISIT, because=False) == "review#2 -> the end"
