"""The page of a team shows how its runs went over time, and how its latest evals ended."""

import re
from dataclasses import replace
from pathlib import Path

from coterie.evals.kept_reports import keep_report, kept_report, kept_reports
from coterie.evals.suite_report import SuiteReport, report_of
from coterie.gateway.console.eval_page import eval_page
from coterie.gateway.console.team_evals import eval_lines
from coterie.gateway.console.team_trends import run_stats
from coterie.gateway.identity.console_address import run_link, run_url
from coterie.gateway.operations.run_listing import ListedRun
from coterie.runs.run_list import RunState
from coterie.settings import load
from tests.unit.coterie.evals.suites import results_of, suite_in
from tests.unit.gateway.console.pages import parsed


def ended(number: int, state: RunState, seconds: int) -> ListedRun:
    began = f"2026-01-0{number}T00:00:00+00:00"
    return ListedRun(
        run=f"r{number}",
        run_id="x",
        team="t",
        state=state,
        began=began,
        ended=began.replace("00:00+", f"00:{seconds:02}+"),
    )


def test_runs_are_drawn_oldest_first_with_their_figures_as_text() -> None:
    running = ListedRun(
        run="r", run_id="x", team="t", state="running", began="2026-01-09T00:00:00+00:00"
    )
    runs = [running, ended(3, "failed", 30), ended(2, "completed", 20), ended(1, "completed", 10)]
    stats = run_stats(runs, {"r1": 0.5, "r2": 1.5, "r3": None})
    assert (stats.ended, stats.since) == (3, "2026-01-01T00:00:00+00:00")
    assert [(trend.name, trend.value, trend.detail) for trend in stats.trends] == [
        ("Completed", "67%", "2 of 3 that ended"),
        ("Mean duration", "20 s", "from 10 s to 30 s"),
        ("Mean cost", "1.00 USD", "2.00 USD in all, of 2 runs"),
    ]
    drawings = [str(trend.drawing.svg) for trend in stats.trends if trend.drawing is not None]
    assert [re.findall('class="(good|bad)"', svg) for svg in drawings] == [
        ["good", "good", "bad"]
    ] * 3
    heights = [float(height) for height in re.findall(r'\d" height="([\d.]+)"', drawings[1])]
    assert heights == sorted(heights)
    assert "Durations from 10 s to 30 s; 3 runs, oldest first" in drawings[1]


def test_one_run_or_none_or_no_price_is_said_and_not_drawn() -> None:
    assert run_stats([], {}).trends == ()
    stats = run_stats([ended(1, "completed", 10)], {})
    assert [trend.drawing for trend in stats.trends] == [None] * 3
    assert stats.trends[2].detail == "no price is known"


def report_in(folder: Path) -> SuiteReport:
    return report_of(results_of(suite_in(folder), {"large": {1}}))


def test_the_latest_report_of_each_suite_is_kept_for_its_team(tmp_path: Path) -> None:
    settings, report = load({}, tmp_path), report_in(tmp_path)
    keep_report(settings, "add", report.model_copy(update={"failures": ()}))
    keep_report(settings, "add", report)
    keep_report(settings, "other", report)
    [kept] = kept_reports(settings, "add")
    assert kept.report == report
    assert kept_report(settings, kept.id) == kept
    [line] = eval_lines([kept])
    assert (line.suite, line.url) == ("sums", f"/evals/{kept.id}")
    [total] = line.variants
    assert (total.passed, total.interval) == ("5/6", "44 % to 97 %")
    folder = tmp_path / ".coterie/evals/reports"
    assert {file.stat().st_mode & 0o077 for file in folder.iterdir()} == {0}
    (folder / f"{kept.id}.json").write_text("{")
    assert kept_reports(settings, "add") == ()
    assert kept_report(settings, "../x") is None


def test_failed_trials_lead_to_their_runs_in_the_console(tmp_path: Path) -> None:
    report = report_in(tmp_path)
    served = parsed("eval.html", eval_page(report, run_url))
    [run] = [trial.run for trial in report.failures]
    assert f"/runs/{run}" in served.xpath("//details//a/@href")
    assert not parsed("eval.html", eval_page(report)).xpath("//details//a")


def test_a_file_links_to_the_public_address_or_to_that_of_this_machine(tmp_path: Path) -> None:
    settings = load({}, tmp_path)
    assert run_link(settings, "a/b") == "", "nobody has served the project"
    (tmp_path / ".coterie").mkdir()
    (tmp_path / ".coterie/console_host").write_text("7f3a\n")
    assert run_link(settings, "a/b") == "http://coterie-7f3a.localhost:7400/runs/a%2Fb"
    (tmp_path / "coterie.yml").write_text("access: {public_url: https://coterie.example.com}\n")
    public = replace(settings, project=tmp_path)
    assert run_link(public, "r") == "https://coterie.example.com/runs/r"
