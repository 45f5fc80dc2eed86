"""The pages of comparisons and evals say what their reports say, and hold only text."""

import re
from pathlib import Path

from coterie.evals.baselines import baseline_of
from coterie.evals.suite_report import report_of
from coterie.gateway.console.compare_page import compare_page
from coterie.gateway.console.eval_page import eval_page
from coterie.inspection.run_comparison import compare, compared
from tests.unit.coterie.evals.suites import results_of, suite_in
from tests.unit.gateway.console.hostile_texts import harmless, hostile
from tests.unit.gateway.console.pages import parsed, recorded, text_in, with_texts


async def test_a_comparison_shows_where_two_runs_part_and_what_they_have_otherwise() -> None:
    first, second = await recorded("review_loop"), await recorded("steered")
    page = compare_page(compare(compared(first), compared(second)))
    assert page.parted == "The paths part at visit 1 of 4."
    assert "differs" in text_in(parsed("compare.html", page))
    same = compare_page(compare(compared(first), compared(first)))
    assert same.parted == "Both took the same path."
    assert "The contexts are the same" in text_in(parsed("compare.html", same))


async def test_every_text_of_a_comparison_stays_text_and_is_shown() -> None:
    paths: set[str] = set()
    first, second = compared(await recorded("steered")), compared(await recorded("terms"))
    page = compare_page(compare(first, second))
    text = harmless(parsed("compare.html", with_texts(page, hostile(paths))))
    assert sorted(paths - set(re.findall("⟦(.*?)⟧", text))) == []


def test_an_eval_shows_inputs_outputs_and_graders_of_failed_trials(tmp_path: Path) -> None:
    run = results_of(suite_in(tmp_path), {"large": {1}})
    page = eval_page(report_of(run, baseline_of(run)))
    [failure] = page.failures
    assert failure.command == f"coterie report {failure.run} -o {failure.run}.html"
    assert failure.input.text != "null"
    paths: set[str] = set()
    text = harmless(parsed("eval.html", with_texts(page, hostile(paths))))
    shown = set(re.findall("⟦(.*?)⟧", text))
    missing = {path for path in paths - shown if not path.startswith(".report.")}
    assert missing == {".tone"}
