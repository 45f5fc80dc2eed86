"""Run the trials of a suite in parallel, within a bound and a budget; continue what is there."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from temporalio.exceptions import ApplicationError

from activities.contracts import SkillRequest
from activities.skills.command_runner import CommandResult
from activities.skills.skill_activity import SkillActivities
from coterie.evals.graders import Grade, Verified, name_of, verify
from coterie.evals.suite import EvalSuite, Trial
from coterie.evals.suite_document import GraderDocument
from coterie.evals.trial_end import TrialEnd, facts_of
from coterie.evals.trial_results import TrialResult, graders_digest, store_result, stored_result
from coterie.evals.trial_runs import run_trial
from coterie.server.connection import Connection, open_connection
from coterie.server.embedded_server import supervise
from coterie.settings import Settings, state_folder
from coterie.terminal import note
from coterie.worker.command_sandbox import command_sandbox
from coterie.worker.surroundings import workspace_of

_FOLDER = "evals"
_MAX_SHOWN = 300


@dataclass(frozen=True, slots=True)
class SuiteRun:
    """What all trials of a suite gave."""

    suite: EvalSuite
    results: tuple[TrialResult, ...]
    """In the order of the trials."""
    left_out: int = 0
    """Trials that did not start, because the budget was used up."""


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
    return SuiteRun(suite, results, len(trials) - len(results))


@dataclass
class _SuiteRunner:
    settings: Settings
    suite: EvalSuite
    done: Callable[[TrialResult], None]
    results: dict[str, TrialResult] = field(default_factory=dict[str, TrialResult])

    def _folder(self, trial: Trial) -> Path:
        return self.settings.state / _FOLDER / trial.run_id

    def knows(self, trial: Trial) -> bool:
        """Return whether the trial has a result of these graders; take it."""
        stored = stored_result(self._folder(trial))
        graders = self.suite.graders(trial.case)
        if stored is None or stored.graded_by != graders_digest(graders, trial):
            return False
        self.results[trial.run_id] = stored
        return True

    async def run(self, trials: Sequence[Trial]) -> None:
        """Run the trials; the first that cannot be run stops all."""
        state_folder(self.settings)
        connection = await open_connection(self.settings, start=True)
        turns = asyncio.Semaphore(self.suite.document.concurrency)
        supervising = asyncio.create_task(_supervised(connection))
        tasks = [asyncio.create_task(self._in_turn(turns, connection, trial)) for trial in trials]
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
        self, turns: asyncio.Semaphore, connection: Connection, trial: Trial
    ) -> None:
        async with turns:
            if self._used_up():
                return
            folder = self._folder(trial)
            stored = stored_result(folder)
            if stored is None:
                end = await run_trial(self.settings, connection, trial, folder)
            else:
                end = stored.end  # graded by other graders
            result = await self._graded(trial, folder, end)
            store_result(folder, result)
            self.results[trial.run_id] = result
            self.done(result)

    def _used_up(self) -> bool:
        most = self.suite.document.max_cost
        spent = sum(result.end.cost or 0.0 for result in self.results.values())
        return most is not None and spent >= most

    async def _graded(self, trial: Trial, folder: Path, end: TrialEnd) -> TrialResult:
        graders = self.suite.graders(trial.case)
        grades: list[Grade] = []
        facts = facts_of(trial, end)
        for number, grader in enumerate(graders if end.completed else (), start=1):
            if grader.has("command"):
                verified = await self._commanded(trial, folder, grader)
            else:
                verified = verify(grader, facts)
            name = name_of(grader, number)
            grades.append(Grade(grader=name, passed=verified.passed, because=verified.because))
        return TrialResult(
            run=trial.run_id,
            variant=trial.variant.name,
            case=trial.case.name,
            repeat=trial.repeat,
            end=end,
            grades=tuple(grades),
            graded_by=graders_digest(graders, trial),
        )

    async def _commanded(self, trial: Trial, folder: Path, grader: GraderDocument) -> Verified:
        """Run a command of the worker in the trial's workspace, in the sandbox of commands."""
        place = {"workspace": str(folder / "workspace")}
        trusted = trial.variant.document.trusted.model_copy(update=place)
        sandbox, _ = command_sandbox(trusted, self.settings)
        skills = SkillActivities(workspace_of(trusted, self.settings, sandbox))
        request = SkillRequest(
            skill="CommandRunner.run",
            input={"command": grader.command, "arguments": grader.arguments},
            key=f"{trial.run_id}/grade/{grader.command}",
        )
        try:
            answer = await skills.call_skill(request)
        except ApplicationError as error:
            return Verified(False, error.message)
        result = CommandResult.model_validate(answer.data)
        if result.passed:
            return Verified(True)
        last = result.output.strip()[-_MAX_SHOWN:]
        ended = "timed out" if result.timed_out else f"exit code {result.exit_code}"
        return Verified(False, f"{grader.command} failed ({ended}): {last}")


async def _supervised(connection: Connection) -> None:
    embedded = connection.embedded
    if embedded is None:
        await asyncio.Event().wait()
    else:
        await supervise(
            embedded.server,
            embedded.record,
            lambda: note("the embedded server died and was restarted"),
        )
