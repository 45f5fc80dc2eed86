"""Trials in a project whose workers take only signed decisions."""

from pathlib import Path

from coterie.dsl.model.sections.worker_document import TEST_ROOT
from coterie.evals.suite import trials_of
from coterie.evals.trial_runs import record_of
from coterie.signing.key_files import generate
from tests.unit.coterie.evals.suites import suite_in


def test_a_trial_signs_under_the_root_of_team_tests_and_needs_no_key(tmp_path: Path) -> None:
    demand = f"{{signed: required, root: '{generate('root').public}'}}"
    (tmp_path / "coterie.yml").write_text(f"worker: {{decisions: {demand}}}\n")
    trial = next(iter(trials_of(suite_in(tmp_path))))
    record = record_of(trial.run_id, trial.variant.document, tmp_path)
    assert record.trusted.decisions_root == TEST_ROOT
