"""The report of a suite: rates, comparison with a baseline, text and HTML."""

from dataclasses import replace
from pathlib import Path

import pytest

from coterie.evals.baselines import Baseline, baseline_of, baseline_text, read_baseline
from coterie.evals.graders import Grade
from coterie.evals.report_text import report_text
from coterie.evals.suite_report import report_of
from coterie.evals.suite_runner import UnjudgedTrial
from coterie.failures import CommandError
from coterie.gateway.console.eval_page import report_html
from tests.unit.coterie.evals.suites import SUITE, results_of, suite_in

TWENTY = SUITE.replace("repeats: 3", "repeats: 20")


def test_report_adds_up_rates_and_costs(tmp_path: Path) -> None:
    (variant,) = report_of(results_of(suite_in(tmp_path), {"large": {1, 2}})).variants
    assert (variant.total.passed, variant.total.trials) == (4, 6)
    assert variant.total.cost == pytest.approx(1.5)
    assert variant.total.low < variant.total.rate < variant.total.high
    assert [(row.name, row.rate) for row in variant.cases] == [("small", 1.0), ("large", 1 / 3)]


@pytest.mark.parametrize(
    ("before", "now", "verdict", "bad"),
    [
        ({}, {"large": set(range(1, 9))}, "worse", True),
        ({"large": set(range(1, 9))}, {}, "better", False),
        ({}, {}, "no difference", False),
        ({"large": {1, 2, 3}}, {"small": {4, 5, 6}}, "undecided", False),
    ],
)
def test_report_compares_each_repeat_with_its_own(
    tmp_path: Path, before: dict[str, set[int]], now: dict[str, set[int]], verdict: str, bad: bool
) -> None:
    suite = suite_in(tmp_path, TWENTY)
    report = report_of(results_of(suite, now), baseline_of(results_of(suite, before)))
    change = report.variants[0].change
    assert change is not None
    assert (change.verdict, change.pairs, report.is_bad) == (verdict, 40, bad)
    assert report.is_open is (verdict == "undecided")
    assert (change.more_repeats > 0) is (verdict == "undecided")


def test_report_compares_only_cases_with_the_same_task_and_graders(tmp_path: Path) -> None:
    before = baseline_of(results_of(suite_in(tmp_path), {}))
    changed = suite_in(tmp_path, SUITE.replace("expected: 101", "expected: 102"))
    change = report_of(results_of(changed, {}), before).variants[0].change
    assert change is not None
    assert (change.left_out, change.pairs) == (("large",), 3)
    assert "not compared, because they are new or changed: large" in report_text(
        report_of(results_of(changed, {}), before)
    )


@pytest.mark.parametrize(
    ("at_least", "target", "bad"),
    [(0.5, "met", False), (0.9, "open", False), (0.99, "missed", True)],
)
def test_report_says_whether_the_wanted_rate_is_reached(
    tmp_path: Path, at_least: float, target: str, bad: bool
) -> None:
    suite = suite_in(tmp_path, f"{TWENTY}at_least: {at_least}\n")
    report = report_of(results_of(suite, {"small": {1, 2}, "large": {3, 4}}))
    assert (report.variants[0].target, report.is_bad) == (target, bad)


def test_baseline_reads_back_as_written(tmp_path: Path) -> None:
    baseline = baseline_of(results_of(suite_in(tmp_path), {"small": {2}}))
    (tmp_path / "b.json").write_text(baseline_text(baseline))
    assert read_baseline(tmp_path / "b.json", "b.json", "sums") == baseline


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{}", "is not a baseline"),
        ("not json", "is not a baseline"),
        (Baseline(suite="other").model_dump_json(), "is a baseline of 'other'"),
        (Baseline(suite="sums", format=9).model_dump_json(), "has the format 9"),
    ],
)
def test_baseline_refuses_what_is_none_of_this_suite(
    tmp_path: Path, text: str, message: str
) -> None:
    (tmp_path / "b.json").write_text(text)
    with pytest.raises(CommandError, match=message):
        read_baseline(tmp_path / "b.json", "b.json", "sums")


def test_html_is_one_file_and_escapes_what_models_wrote(tmp_path: Path) -> None:
    suite = suite_in(tmp_path)
    run = results_of(suite, {"large": {1}})
    page = report_html(report_of(run, baseline_of(run)))
    assert "&lt;b&gt;it broke&lt;/b&gt;" in page
    assert "<b>it broke" not in page
    assert "<script" not in page
    assert "src=" not in page
    assert "default-src &#39;none&#39;" in page


def test_report_adds_up_judges_and_names_trials_without_a_verdict(tmp_path: Path) -> None:
    found = results_of(suite_in(tmp_path), {})
    grade = Grade(grader="kind", passed=True, score=9, model_calls=3, cost=0.5)
    judged = tuple(one.model_copy(update={"grades": (grade,)}) for one in found.results)
    lost = UnjudgedTrial(run="eval-1", because="the judge of 'kind' failed", cost=0.1)
    report = report_of(replace(found, results=judged, unjudged=(lost,)))
    assert (report.judge_calls, report.judge_cost, report.is_bad) == (18, 3.0, False)
    assert report.variants[0].total.cost == pytest.approx(1.5)
    assert judged[0].cost == pytest.approx(0.75)
    for text in (report_text(report), report_html(report)):
        assert "judges of the rubrics: 18 model calls, $3.0000" in text
        assert "no result for eval-1" in text


def test_verdict_says_on_how_many_pairs_it_rests(tmp_path: Path) -> None:
    suite = suite_in(tmp_path)
    whole = results_of(suite, {})
    void = replace(whole, results=whole.results[1:])
    report = report_of(void, baseline_of(whole))
    change = report.variants[0].change
    assert change is not None
    count = len(whole.results)
    assert (change.pairs, change.missing_pairs) == (count - 1, 1)
    assert f"in {count - 1} of {count} pairs, the others without a result" in report_text(report)
    assert "without a result" not in report_text(report_of(whole, baseline_of(whole)))
