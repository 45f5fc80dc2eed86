"""Every expectation that a run does not meet is reported once, with what was found instead."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from coterie.dsl.model.outcomes import Failure
from coterie.testing.case_differences import UnmetExpectation, differences, path_lines
from coterie.testing.files.case_document import ExpectDocument
from coterie.testing.simulation.case_outcome import CaseOutcome
from coterie.workflows.core.views import TrailEntry


def entry(number: int, kind: Any, **fields: Any) -> TrailEntry:
    return TrailEntry(number=number, at="2026-01-01T00:00:00Z", kind=kind, visit=1, **fields)


TRAIL = (
    entry(1, "team", team="draft", because="it is the entry"),
    entry(2, "step", team="draft", step="each/2/write", status="success", seconds=90.0),
    entry(3, "team", team="review", because="a rule"),
    entry(4, "step", team="review", step="read", status="failure", because="too long"),
)
OUTCOME = CaseOutcome(
    end="completed",
    because="no team follows",
    error=None,
    context={"review": {"status": "PASS", "round": 2}},
    output={"title": "Tea", "text": "a\nb"},
    visits={"draft": 1, "review": 1},
    teams_run=2,
    model_calls=3,
    function_calls=0,
    tokens=120,
    cost=0.25,
    unpriced=(),
    trail=TRAIL,
    notifications=(),
    duration=90.5,
    folder=Path("nowhere"),
)


def unmet(expect: dict[str, Any], found: CaseOutcome = OUTCOME) -> list[UnmetExpectation]:
    return list(differences(ExpectDocument.model_validate(expect), found))


def test_an_outcome_that_meets_every_expectation_differs_in_nothing() -> None:
    assert not unmet(
        {
            "path": ["draft", "review"],
            "trail": [
                {"event": "step", "step": "each/write", "seconds": "90s"},
                {"team": "review"},
            ],
            "context": {"review.status": "PASS", "review.round": {"greater_than": 1}},
            "output": {"title": "Tea", ".": {"equals": OUTCOME.output}},
            "visits": {"draft": 1, "repair": 0},
            "model_calls": 3,
            "function_calls": 0,
            "tokens": {"in_range": [100, 120]},
            "teams_run": 2,
            "cost": {"less_than": 0.3},
            "duration": {"in_range": ["90s", "2m"]},
        }
    )


@pytest.mark.parametrize(
    ("expect", "subject", "message"),
    [
        (
            {"end": "failed"},
            "end",
            "expected failed, and the run completed, because no team follows",
        ),
        ({"context": {"review.status": "FAIL"}}, "context.review.status", '"FAIL", found "PASS"'),
        (
            {"context": {"review.state": "PASS"}},
            "context.review.state",
            "\"PASS\", found nothing; there are round, status. did you mean 'status'?",
        ),
        (
            {"context": {"review.status.x": 1}},
            "context.review.status.x",
            "1, found nothing; there are none",
        ),
        (
            {"context": {"review.round": {"greater_than": 1, "lt": 2}}},
            "context.review.round",
            "greater_than 1 and less_than 2, found 2",
        ),
        ({"output": {".": {"equals": 1}}}, "output.", f"equals 1, found {'{'}"),
        ({"files": {"a.txt": "x"}}, "files.a.txt", '"x", found nothing'),
        ({"visits": {"draft": 2}}, "visits.draft", "2, found 1"),
        ({"visits": {"repair": 1}}, "visits.repair", "1, found 0"),
        ({"model_calls": 4}, "model_calls", "4, found 3"),
        ({"function_calls": 1}, "function_calls", "1, found 0"),
        ({"tokens": 121}, "tokens", "121, found 120"),
        ({"teams_run": 3}, "teams_run", "3, found 2"),
        ({"cost": 0.5}, "cost", "0.5, found 0.25"),
        ({"duration": "91s"}, "duration", '"91s", found 90.5 s'),
        ({"error": {"type": "NoRoute"}}, "error.type", '"NoRoute", found nothing'),
    ],
)
def test_an_unmet_expectation_says_what_was_found(
    expect: dict[str, Any], subject: str, message: str
) -> None:
    (one,) = unmet(expect)
    assert one.subject.rstrip(".") == subject.rstrip(".")
    assert one.message.removeprefix("expected ").startswith(message.removeprefix("expected "))
    assert one.as_dict() == {"place": one.subject, "message": one.message, "lines": []}


def test_the_error_of_a_failed_run_is_compared_in_the_fields_that_are_expected() -> None:
    failed = replace(
        OUTCOME, end="failed", error=Failure("NoRoute", "no rule fits"), context=None, output=None
    )
    assert not unmet({"end": "failed", "error": {"type": "NoRoute"}}, failed)
    assert not unmet({"end": "failed", "error": {"message": {"contains": "rule"}}}, failed)
    unmet_error = {"end": "failed", "error": {"type": "TeamError", "message": "x"}}
    assert [(one.subject, one.message) for one in unmet(unmet_error, failed)] == [
        ("error.type", 'expected "TeamError", found "NoRoute"'),
        ("error.message", 'expected "x", found "no rule fits"'),
    ]


def test_a_run_without_a_result_has_neither_context_nor_output() -> None:
    lost = replace(OUTCOME, context=None, output=None)
    expect = {"context": {"a": 1, "b": {"is_null": None}}, "output": {".": "x"}}
    assert [(one.subject, one.message) for one in unmet(expect, lost)] == [
        ("context.a", "expected 1, and the run ended without a result"),
        ("context.b", "expected is_null, and the run ended without a result"),
        ("output..", 'expected "x", and the run ended without a result'),
    ]


def test_a_cost_is_not_compared_while_a_model_has_no_price() -> None:
    expect = {"cost": 0.25}
    (one,) = unmet(expect, replace(OUTCOME, unpriced=("a/b", "c/d")))
    assert one.message == "expected 0.25, and a/b, c/d has no price"
    assert not unmet({"cost": 0}, replace(OUTCOME, cost=None))


def test_texts_of_several_lines_are_shown_as_a_diff() -> None:
    (one,) = unmet({"output": {"text": "a\nc"}})
    assert (one.subject, one.message) == ("output.text", "the text differs")
    assert one.lines == ("--- expected", "+++ found", "@@ -1,2 +1,2 @@", " a", "-c", "+b")
    (other,) = unmet({"output": {"text": {"equals": "a\nc"}}})
    assert other.message == 'expected equals "a\\nc", found "a\\nb"'


def test_another_path_is_shown_with_the_reasons_that_the_run_gave() -> None:
    (one,) = unmet({"path": ["draft", "repair"]})
    assert (one.subject, one.message) == ("path", "the run took another path")
    assert one.lines == (
        "    draft",
        "  - repair  expected",
        "  + review  taken, because a rule",
    )


def test_a_long_path_of_one_team_differs_only_in_the_visits_that_are_missing() -> None:
    trail = tuple(entry(n, "team", team="again", because="r") for n in range(300))
    (one,) = unmet({"path": ["again"] * 301}, replace(OUTCOME, trail=trail))
    assert [line for line in one.lines if not line.startswith("    ")] == ["  - again  expected"]


def test_an_expected_path_has_no_lines() -> None:
    assert path_lines(("draft", ("review",)), OUTCOME.path) == ()
    assert path_lines((), ()) == ()


def test_a_long_path_shows_only_where_it_differs() -> None:
    taken = [entry(n, "team", team="again", because="r") for n in range(250)]
    lines = path_lines(["draft", *["again"] * 249], taken)
    marked = [line for line in lines if not line.startswith("    ")]
    assert marked == ["  - draft  expected", "  + again  taken, because r"]


def test_a_group_of_teams_matches_in_any_order_and_only_as_a_group() -> None:
    assert not unmet({"path": [["review", "draft"]]})
    assert not unmet({"path": ["draft", ["review"]]})
    (one,) = unmet({"path": [["review", "review"]]})
    assert one.lines == (
        "  + draft   taken, because it is the entry",
        "    review",
        "  - review  expected",
    )


@pytest.mark.parametrize(
    ("teams", "wanted", "lines"),
    [
        (
            12,
            11,
            [*[f"    t{n:02}" for n in range(11)], "  + t11  taken, because r"],
        ),
        (
            13,
            12,
            ["    ... 9 as expected", "    t09", "    t10", "    t11", "  + t12  taken, because r"],
        ),
    ],
)
def test_a_long_equal_stretch_is_left_out_above_twelve_lines(
    teams: int, wanted: int, lines: list[str]
) -> None:
    trail = tuple(entry(n, "team", team=f"t{n:02}", because="r") for n in range(teams))
    path = [f"t{n:02}" for n in range(wanted)]
    (one,) = unmet({"path": path}, replace(OUTCOME, trail=trail))
    assert list(one.lines) == lines


def test_equal_stretches_between_and_after_differences_are_counted_one_by_one() -> None:
    trail = tuple(entry(n, "team", team=f"t{n:02}", because="r") for n in range(20))
    path = [f"t{n:02}" for n in range(20) if n not in (1, 11)]
    (one,) = unmet({"path": path}, replace(OUTCOME, trail=trail))
    assert one.lines == (
        "    t00",
        "  + t01  taken, because r",
        "    t02",
        "    t03",
        "    t04",
        "    ... 3 as expected",
        "    t08",
        "    t09",
        "    t10",
        "  + t11  taken, because r",
        "    t12",
        "    t13",
        "    t14",
        "    ... 5 as expected",
    )


@pytest.mark.parametrize(
    ("expected", "subject", "message", "lines"),
    [
        (
            [{"team": "review"}, {"team": "draft"}],
            "trail[1]",
            'no further entry with team "draft"',
            [
                "  it came before the entries that should precede it: "
                "1 draft#1 starts, because it is the entry"
            ],
        ),
        (
            [{"event": "step", "step": "read", "status": "success", "seconds": "1m"}],
            "trail[0]",
            'no entry has event "step", step "read", status "success", seconds "1m"',
            [
                "  nearest: 4 review#1/read: failure, because too long",
                '  but status is "failure", not "success", seconds is null, not 60.0',
            ],
        ),
        (
            [{"event": "team"}, {"event": "step", "step": "write"}],
            "trail[1]",
            'no entry after entry 1 has event "step", step "write"',
            [
                "  nearest: 2 draft#1/each/2/write: success (1 min 30 s)",
                '  but step is "each/2/write", not "write"',
            ],
        ),
        (
            [{"step": "each/write", "status": "failure"}],
            "trail[0]",
            'no entry has step "each/write", status "failure"',
            [
                "  nearest: 2 draft#1/each/2/write: success (1 min 30 s)",
                '  but status is "success", not "failure"',
            ],
        ),
        ([{"event": "budget"}], "trail[0]", 'no entry has event "budget"', []),
        (
            [{"step": "read"}, {"event": "notice"}],
            "trail[1]",
            'no entry after entry 4 has event "notice"',
            [],
        ),
        (
            [{"step": "draw", "status": "success", "team": "review"}],
            "trail[0]",
            'no entry has team "review", step "draw", status "success"',
            [
                "  nearest: 2 draft#1/each/2/write: success (1 min 30 s)",
                '  but team is "draft", not "review", step is "each/2/write", not "draw"',
            ],
        ),
    ],
)
def test_a_missing_trail_entry_is_shown_beside_the_nearest_one(
    expected: list[dict[str, Any]], subject: str, message: str, lines: list[str]
) -> None:
    (one,) = unmet({"trail": expected})
    assert (one.subject, one.message, list(one.lines)) == (subject, message, lines)


def test_an_entry_that_was_found_is_not_found_again() -> None:
    assert [one.subject for one in unmet({"trail": [{"event": "team"}] * 3})] == ["trail[2]"]
