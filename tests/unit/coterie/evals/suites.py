"""A suite in a folder of its own, and results of its trials without runs."""

from pathlib import Path

from coterie.evals.suite import EvalSuite, trials_of
from coterie.evals.suite_reader import read_suite
from coterie.evals.suite_runner import SuiteRun
from coterie.evals.trial_end import TrialEnd
from coterie.evals.trial_results import TrialResult
from coterie.settings import load

TEAM = """
orchestration:
  entry_team: add
  context: { left: { type: integer }, right: { type: integer, default: 1 } }
  output: { total: "{{ context.left + context.right }}" }
  teams:
    add:
      tasks: [{ name: sum, type: set, values: { total: "{{ context.left + context.right }}" } }]
worker: { commands: { check: { run: [make, check] } } }
"""
SUITE = """
name: sums
team: add.yml
repeats: 3
graders: [{ of: "{{ output.total }}", exact: "{{ expected }}" }]
cases:
  - { name: small, context: { left: 1 }, expected: 2 }
  - { name: large, context: { left: 100 }, expected: 101 }
"""


def suite_in(folder: Path, text: str = SUITE) -> EvalSuite:
    """Write the suite and its team, and read the suite."""
    (folder / "add.yml").write_text(TEAM)
    (folder / "sums.yml").write_text(text)
    return read_suite(load({}, folder), "sums.yml")


def results_of(suite: EvalSuite, failed: dict[str, set[int]]) -> SuiteRun:
    """Return results in which the named repeats of a case fail."""
    results = tuple(
        TrialResult(
            run=trial.run_id,
            variant=trial.variant.name,
            case=trial.case.name,
            repeat=trial.repeat,
            end=TrialEnd(
                completed=trial.repeat not in failed.get(trial.case.name, ()),
                message="<b>it broke</b>",
                model_calls=2,
                seconds=1.5,
                cost=0.25,
            ),
            grades=(),
            graded_by="",
        )
        for trial in trials_of(suite)
    )
    return SuiteRun(suite, results)
