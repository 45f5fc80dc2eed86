"""Grade the end of a trial: by facts, by commands in its workspace, by a judge."""

from pathlib import Path

from temporalio.exceptions import ApplicationError

from coterie.activities.contracts import SkillRequest
from coterie.activities.skills.command_runner import CommandResult
from coterie.activities.skills.skill_activity import SkillActivities
from coterie.dsl.errors import EvaluationLimitExceeded, TemplateFailed
from coterie.dsl.templates.template_filling import fill
from coterie.dsl.values import Json
from coterie.evals.graders import Grade, NoVerdict, Verified, name_of, verify
from coterie.evals.judgements import Judge, Unjudged
from coterie.evals.suite import Trial
from coterie.evals.suite_document import GraderDocument
from coterie.evals.trial_end import AUTHORED, TrialEnd, facts_of
from coterie.evals.trial_results import TrialResult, graders_digest
from coterie.settings import Settings
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
        skills = SkillActivities(workspace_of(trusted, self._settings, sandbox))
        request = SkillRequest(
            skill="CommandRunner.run",
            input={"command": grader.command, "arguments": grader.arguments},
            key=f"{trial.run_id}/grade/{grader.command}",
        )
        try:
            answer = await skills.call_skill(request)
        except ApplicationError as error:
            raise NoVerdict(error.message) from None
        result = CommandResult.model_validate(answer.data)
        if result.passed:
            return Verified(True)
        last = result.output.strip()[-_MAX_SHOWN:]
        ended = "timed out" if result.timed_out else f"exit code {result.exit_code}"
        return Verified(False, f"{grader.command} failed ({ended}): {last}")
