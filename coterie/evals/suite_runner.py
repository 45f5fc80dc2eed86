"""Run the trials of a suite in parallel, within a bound and a budget; continue what is there."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from coterie.dsl.values import Frozen
from coterie.evals.judgements import Judge, Unjudged
from coterie.evals.suite import EvalSuite, Trial
from coterie.evals.trial_end import TrialEnd, void_reason
from coterie.evals.trial_grading import TrialGrading
from coterie.evals.trial_results import (
    TrialResult,
    graders_digest,
    store_result,
    store_void,
    stored_result,
    stored_voids,
)
from coterie.evals.trial_runs import run_trial
from coterie.server.connection import Connection, open_connection
from coterie.server.embedded_server import supervise
from coterie.settings import Settings, state_folder
from coterie.terminal import note

_FOLDER = "evals"
_MANY_VOIDS = 3


class UnjudgedTrial(Frozen):
    """A trial without a verdict: its run was void, or a grader or judge gave none."""

    run: str
    because: str
    cost: float
    """US dollars of the trial and its judge."""


@dataclass(frozen=True, slots=True)
class SuiteRun:
    """What all trials of a suite gave."""

    suite: EvalSuite
    results: tuple[TrialResult, ...]
    """In the order of the trials."""
    left_out: int = 0
    """Trials that did not start, because the budget was used up."""
    unjudged: tuple[UnjudgedTrial, ...] = ()
    """Trials that ended, and have no result: void ones, and those without a verdict."""


async def run_suite(
    settings: Settings,
    suite: EvalSuite,
    trials: Sequence[Trial],
    done: Callable[[TrialResult], None],
) -> SuiteRun:
    """Run all trials that have no result yet, and grade them.

    Args:
        settings: Environment of the command.
        suite: The suite.
        trials: Its trials.
        done: Called with each result of this command.

    Raises:
        CommandError: There is no server, or a workspace cannot be made.
    """
    runner = _SuiteRunner(settings, suite, done)
    open_trials = [trial for trial in trials if not runner.knows(trial)]
    if open_trials:
        await runner.run(open_trials)
    known = (runner.results.get(trial.run_id) for trial in trials)
    results = tuple(result for result in known if result is not None)
    left_out = len(trials) - len(results) - len(runner.unjudged)
    return SuiteRun(suite, results, left_out, tuple(runner.unjudged))


@dataclass
class _SuiteRunner:
    settings: Settings
    suite: EvalSuite
    done: Callable[[TrialResult], None]
    results: dict[str, TrialResult] = field(default_factory=dict[str, TrialResult])
    unjudged: list[UnjudgedTrial] = field(default_factory=list[UnjudgedTrial])

    def _folder(self, trial: Trial) -> Path:
        return self.settings.state / _FOLDER / trial.run_id

    def _latest(self, trial: Trial) -> Trial:
        """Return the trial with the run that counts: not one that was void."""
        return trial.after_void(len(stored_voids(self._folder(trial)).because))

    def knows(self, trial: Trial) -> bool:
        """Return whether the trial has a result of these graders; take it."""
        stored = stored_result(self._folder(self._latest(trial)))
        if stored is None or stored.graded_by != graders_digest(trial):
            return False
        self.results[trial.run_id] = stored
        return True

    async def run(self, trials: Sequence[Trial]) -> None:
        """Run the trials; the first that cannot be run stops all."""
        state_folder(self.settings)
        connection = await open_connection(self.settings, start=True)
        turns = asyncio.Semaphore(self.suite.document.concurrency)
        document = self.suite.judge
        judge = None if document is None else Judge(self.settings, connection, document)
        grading = TrialGrading(self.settings, judge)
        supervising = asyncio.create_task(_supervise_server(connection))
        tasks = [
            asyncio.create_task(self._in_turn(turns, connection, grading, trial))
            for trial in trials
        ]
        working = asyncio.gather(*tasks)
        try:
            await asyncio.wait({working, supervising}, return_when=asyncio.FIRST_COMPLETED)
            if supervising.done():
                await supervising  # it only ends by an error
            await working
        finally:
            for task in (supervising, *tasks):
                task.cancel()
            await asyncio.gather(supervising, *tasks, return_exceptions=True)

    async def _in_turn(
        self,
        turns: asyncio.Semaphore,
        connection: Connection,
        grading: TrialGrading,
        trial: Trial,
    ) -> None:
        async with turns:
            if self._used_up():
                return
            latest = self._latest(trial)
            folder = self._folder(latest)
            stored = stored_result(folder)
            if stored is None:
                end = await run_trial(self.settings, connection, latest, folder)
            else:
                end = stored.end  # graded by other graders
            if because := void_reason(end):
                self._take_void(trial, latest, end, because)
                return
            try:
                result = await grading.result(latest, folder, end)
            except Unjudged as error:
                cost = (end.cost or 0.0) + error.cost
                self.unjudged.append(
                    UnjudgedTrial(run=latest.run_id, because=str(error), cost=cost)
                )
                return
            store_result(folder, result)
            self.results[trial.run_id] = result
            self.done(result)

    def _take_void(self, trial: Trial, latest: Trial, end: TrialEnd, because: str) -> None:
        """Note a run that says nothing about its team: the next command runs the trial again."""
        voids = len(store_void(self._folder(trial), because).because)
        if voids >= _MANY_VOIDS:
            because = f"{because} (void {voids} times in a row: look for the cause first)"
        self.unjudged.append(
            UnjudgedTrial(run=latest.run_id, because=because, cost=end.cost or 0.0)
        )

    def _used_up(self) -> bool:
        maximum = self.suite.document.max_cost
        spent = sum(result.cost or 0.0 for result in self.results.values())
        spent += sum(one.cost for one in self.unjudged)
        return maximum is not None and spent >= maximum


async def _supervise_server(connection: Connection) -> None:
    embedded = connection.embedded
    if embedded is None:
        await asyncio.Event().wait()
    else:
        await supervise(
            embedded.server,
            embedded.record,
            lambda: note("the embedded server died and was restarted"),
        )
