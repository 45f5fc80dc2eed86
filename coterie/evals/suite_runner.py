"""Run the trials of a suite in parallel, within a bound and a budget; continue what is there."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from temporalio.exceptions import ApplicationError

from coterie.activities.contracts import FunctionRequest
from coterie.activities.tool_functions.command_runner import CommandResult
from coterie.activities.tool_functions.function_activity import FunctionActivities
from coterie.dsl.errors import EvaluationLimitExceeded, TemplateFailed
from coterie.dsl.templates.template_filling import fill
from coterie.dsl.values import Frozen, Json
from coterie.evals.graders import Grade, NoVerdict, Verified, name_of, verify
from coterie.evals.judgements import Judge, Unjudged
from coterie.evals.suite import EvalSuite, Trial
from coterie.evals.suite_document import GraderDocument
from coterie.evals.trial_end import AUTHORED, TrialEnd, facts_of, void_reason
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
from coterie.worker.command_sandbox import command_sandbox
from coterie.worker.surroundings import workspace_of

_MAX_SHOWN = 300


class TrialGrading:
    """Grades trials of one suite."""

    def __init__(self, settings: Settings, judge: Judge | None) -> None:
        """Prepare to grade; `judge` is None if no grader has a rubric."""
        self._settings = settings
        self._judge = judge

    async def result(self, trial: Trial, folder: Path, end: TrialEnd) -> TrialResult:
        """Return the graded result; a trial that did not complete has no grades.

        Raises:
            Unjudged: A grader or a judge gave no verdict.
        """
        graders = trial.suite.graders(trial.case) if end.completed else ()
        facts = facts_of(trial, end)
        grades: list[Grade] = []
        for number, grader in enumerate(graders, start=1):
            name = name_of(grader, number)
            try:
                grades.append(await self._grade(trial, folder, grader, name, facts))
            except NoVerdict as error:
                spent = sum(grade.cost or 0.0 for grade in grades)
                raise Unjudged(f"the grader {name!r} cannot be evaluated: {error}", spent) from None
        return TrialResult(
            run=trial.run_id,
            variant=trial.variant.name,
            case=trial.case.name,
            repeat=trial.repeat,
            end=end,
            grades=tuple(grades),
            graded_by=graders_digest(trial),
        )

    async def _grade(
        self, trial: Trial, folder: Path, grader: GraderDocument, name: str, facts: Json
    ) -> Grade:
        if grader.has("rubric"):
            return await self._run_judge(trial, folder, grader, name, facts)
        if grader.has("command"):
            verified = await self._run_command_grader(trial, folder, grader)
        else:
            verified = verify(grader, facts)
        return Grade(grader=name, passed=verified.passed, because=verified.because)

    async def _run_judge(
        self, trial: Trial, folder: Path, grader: GraderDocument, name: str, facts: Json
    ) -> Grade:
        """Have the judge look; the rubric sees only what the suite's author wrote."""
        assert self._judge is not None  # a suite with a rubric has one
        try:
            rubric = fill(grader.rubric, {key: facts[key] for key in AUTHORED})
            material: Json = {"rubric": str(rubric), "work": fill(grader.of, facts)}
        except (TemplateFailed, EvaluationLimitExceeded) as error:
            raise NoVerdict(str(error)) from None
        return await self._judge.grade(name, grader, trial, folder, material)

    async def _run_command_grader(
        self, trial: Trial, folder: Path, grader: GraderDocument
    ) -> Verified:
        """Run a command of the worker in the trial's workspace, in the sandbox of commands."""
        workspace = {"workspace": str(folder / "workspace")}
        trusted = trial.variant.document.trusted.model_copy(update=workspace)
        sandbox, _ = command_sandbox(trusted, self._settings)
        functions = FunctionActivities(workspace_of(trusted, self._settings, sandbox))
        request = FunctionRequest(
            skill="CommandRunner.run",
            input={"command": grader.command, "arguments": grader.arguments},
            key=f"{trial.run_id}/grade/{grader.command}",
        )
        try:
            answer = await functions.call_function(request)
        except ApplicationError as error:
            raise NoVerdict(error.message) from None
        result = CommandResult.model_validate(answer.data)
        if result.passed:
            return Verified(True)
        last = result.output.strip()[-_MAX_SHOWN:]
        ended = "timed out" if result.timed_out else f"exit code {result.exit_code}"
        return Verified(False, f"{grader.command} failed ({ended}): {last}")


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
    trial_results = (runner.results.get(trial.run_id) for trial in trials)
    results = tuple(result for result in trial_results if result is not None)
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
        spent += sum(trial.cost for trial in self.unjudged)
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
