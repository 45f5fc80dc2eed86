"""What a provider, the worker or its machine got wrong is no result of a team."""

from pathlib import Path

import pytest

from coterie.activities.contracts import WORKER_STOPPED, FailureType
from coterie.dsl.errors import TeamFailed
from coterie.dsl.model.outcomes import Failure
from coterie.evals.report_text import unjudged_texts
from coterie.evals.suite import trials_of
from coterie.evals.suite_report import report_of
from coterie.evals.suite_runner import SuiteRun, UnjudgedTrial
from coterie.evals.trial_end import trial_end, void_reason
from coterie.evals.trial_results import VoidTrial, store_void, stored_voids
from coterie.runs.ends.end_facts import ClosedState, RunEnd
from coterie.workflows.core.results import RunFailed
from coterie.workflows.interpreter import run
from tests.support.one_team import agent, work
from tests.support.simulation.stopping import StoppingScope, World, fresh
from tests.unit.coterie.evals.suites import results_of, suite_in

NOT_THE_TEAMS = {
    "ProviderUnavailable",
    "RateLimited",
    "ProviderRefused",
    "AnswerUnreadable",
    "MissingSecret",
    "StorageUnusable",
    "StaleAttempt",
    WORKER_STOPPED,
}
THE_TEAMS = {
    "AnswerTruncated",
    "AnswerRefused",
    "AnswerUnusable",
    "TurnsExhausted",
    "AnswerTooLarge",
    "ContextWindowExceeded",
    "RequestTooLarge",
    "AgentRefused",
    "AgentFailed",
    "FunctionRefused",
    "FunctionFailed",
    "ToolChanged",
    "InputRequired",
    "Timeout",
    "OutcomeUnknown",
    "OwnQueue",
    "NotLocal",
}


def test_the_table_has_every_type_of_failure() -> None:
    types = {value for name, value in vars(FailureType).items() if name.isupper()}
    assert types | {WORKER_STOPPED} == NOT_THE_TEAMS | THE_TEAMS


@pytest.mark.parametrize("type", sorted(NOT_THE_TEAMS | THE_TEAMS))
async def test_a_trial_is_void_if_what_failed_its_run_was_not_the_teams(type: str) -> None:
    plan = work(f"- {agent('act')}\n")
    scope = StoppingScope(plan, fresh(plan, {}), World(lambda _: {"fails": type}), None)
    with pytest.raises(RunFailed) as failed:
        await run(scope)
    result = failed.value.result
    assert (failed.value.type, result.root) == (TeamFailed.__name__, type)
    end = trial_end(RunEnd("failed", result), 1.0)
    assert bool(void_reason(end)) is (type in NOT_THE_TEAMS)
    assert void_reason(end.model_copy(update={"completed": True})) == ""
    assert void_reason(end.model_copy(update={"stop": "timeout"})) == ""


@pytest.mark.parametrize(
    ("state", "is_void"),
    [("failed", False), ("cancelled", False), ("terminated", True), ("timed out", True)],
)
def test_a_trial_is_void_if_somebody_ended_its_run(state: ClosedState, is_void: bool) -> None:
    failure = Failure("Broken", "it broke")
    assert bool(void_reason(trial_end(RunEnd(state, None, failure), 1.0))) is is_void


def test_void_runs_are_counted_and_the_next_run_of_the_trial_is_another_one(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "first"
    assert stored_voids(folder) == VoidTrial()
    for number in (1, 2, 3):
        assert len(store_void(folder, "away").because) == number
    trial = next(trials_of(suite_in(folder.parent)))
    ids = [trial.after_void(number).run_id for number in (0, 1, 2)]
    assert ids == [trial.run_id, f"{trial.run_id}-again1", f"{trial.run_id}-again2"]


def test_a_void_trial_is_named_and_in_no_rate(tmp_path: Path) -> None:
    whole = results_of(suite_in(tmp_path), {})
    void = UnjudgedTrial(run="r-1", because="its run failed by RateLimited", cost=0.5)
    report = report_of(SuiteRun(whole.suite, whole.results[1:], 0, (void,)))
    assert report.variants[0].total.trials == len(whole.results) - 1
    assert unjudged_texts(report)[0] == "no result for r-1: its run failed by RateLimited"
