"""Judge work against a rubric: a durable run of the team `judge`, found again and paid."""

import asyncio
from collections.abc import AsyncIterator
from hashlib import sha256
from itertools import count
from pathlib import Path
from shlex import quote

from pydantic import JsonValue, ValidationError
from pydantic_core import to_json
from temporalio.client import WorkflowExecutionStatus
from temporalio.service import RPCError, RPCStatusCode

from coterie.display.decider import Decider
from coterie.display.following.follower import Watch
from coterie.documents.compilation import CompiledDocument
from coterie.dsl.values import Frozen, Json
from coterie.evals.graders import Grade
from coterie.evals.suite import Trial
from coterie.evals.suite_document import GraderDocument
from coterie.evals.trial_runs import attending, begun, record_of
from coterie.evals.unattended_view import UnattendedView
from coterie.runs.call_errors import call_error
from coterie.runs.ends.end_facts import RunEnd
from coterie.runs.ends.end_words import incomplete_reason
from coterie.runs.run_client import Run
from coterie.server.connection import Connection
from coterie.settings import Settings
from coterie.workflows.core.messages import TeamInput

MAX_WORK = 200_000
"""Bytes of JSON that a judge reads."""
_FAILED = (
    WorkflowExecutionStatus.FAILED,
    WorkflowExecutionStatus.CANCELED,
    WorkflowExecutionStatus.TERMINATED,
    WorkflowExecutionStatus.TIMED_OUT,
)


class Unjudged(Exception):
    """The judge gave no verdict, which says nothing about the trial."""

    def __init__(self, because: str, cost: float) -> None:
        """Note why, and what the judge has cost so far in US dollars."""
        super().__init__(because)
        self.cost = cost


class Vote(Frozen):
    """One vote of the judge."""

    reason: str
    score: int


class JudgeOutput(Frozen):
    """The output of the team `judge`."""

    votes: tuple[Vote, ...]
    score: int

    @property
    def reason(self) -> str:
        """The reason of the vote that decides, the median."""
        return next(vote.reason for vote in self.votes if vote.score == self.score)


class Judge:
    """Judges trials of one suite."""

    def __init__(
        self, settings: Settings, connection: Connection, document: CompiledDocument
    ) -> None:
        self._settings = settings
        self._connection = connection
        self._document = document

    async def grade(
        self, name: str, grader: GraderDocument, trial: Trial, folder: Path, material: Json
    ) -> Grade:
        """Return the verdict of the judge's run; start it unless an earlier command did.

        Args:
            name: Of the grader, in reports.
            grader: The grader.
            trial: What is judged.
            folder: The trial's own.
            material: The rubric and the work, without templates.

        Raises:
            Unjudged: The run failed; a repeated command starts another one.
            CommandError: The server does not answer.
        """
        size = len(to_json(material["work"]))
        if size > MAX_WORK:
            because = f"the value has {size:,} bytes; a judge reads at most {MAX_WORK:,}"
            return Grade(grader=name, passed=False, because=because)
        context = self._context(grader, trial, material)
        spent = 0.0
        async for run_id, earlier in self._attempts(self._run_id(trial, context)):
            if earlier is not None:
                spent += _cost(earlier)
                continue
            end = await self._end(run_id, trial, folder, context)
            spent += _cost(end)
            return _grade(name, grader, run_id, end, spent)
        raise AssertionError("there is always another attempt")

    def _context(self, grader: GraderDocument, trial: Trial, material: Json) -> Json:
        judge = trial.suite.document.judge
        task: Json = {"context": trial.context}
        if trial.case.messages:
            task["messages"] = list(trial.case.messages)
        return {
            "rubric": material["rubric"],
            "work": material["work"],
            "task": task,
            "votes": grader.votes or judge.votes,
            "heuristics": judge.heuristics,
        }

    def _run_id(self, trial: Trial, context: Json) -> str:
        digest = sha256(to_json((trial.suite.judge_digest, context))).hexdigest()[:10]
        return f"{trial.run_id}-judge-{digest}"

    async def _attempts(self, first: str) -> AsyncIterator[tuple[str, RunEnd | None]]:
        """Yield the runs of earlier commands that failed, then the one to start or continue."""
        for attempt in count(1):
            run = Run(self._connection.client, first if attempt == 1 else f"{first}-{attempt}")
            try:
                described = await run.handle.describe()
            except RPCError as error:
                if error.status is not RPCStatusCode.NOT_FOUND:
                    raise call_error(run.id, error) from None
                yield run.id, None
                return
            if described.status not in _FAILED:
                yield run.id, None
                return
            yield run.id, await run.end()

    async def _end(self, run_id: str, trial: Trial, folder: Path, context: Json) -> RunEnd:
        judge_folder = folder / "judge"
        judge_folder.mkdir(parents=True, exist_ok=True)
        record = record_of(run_id, self._document, judge_folder)
        team_input = TeamInput(
            plan=self._document.compiled.plan,
            context=context,
            marked=record.trusted.sets_visibility,
        )
        summary = f"judge of {trial.case.name} #{trial.repeat}"
        async with attending(self._settings, self._connection, record):
            run = await begun(self._settings, self._connection, record, team_input, summary)
            return await _until_end(run, trial.suite.document.timeout)


async def _until_end(run: Run, longest: float) -> RunEnd:
    """Wait for the end; cancel a run that asks a person, or takes too long."""
    view = UnattendedView()
    decider = Decider(run, view, (), interactive=False)
    ended = asyncio.create_task(Watch(run, view, decider).until_end())
    question = asyncio.create_task(view.asked.wait())
    tasks: tuple[asyncio.Task[RunEnd] | asyncio.Task[bool], ...] = (ended, question)
    try:
        await asyncio.wait(tasks, timeout=longest, return_when=asyncio.FIRST_COMPLETED)
        if not ended.done():
            asks = f"it asks a person: {view.request}"
            await run.cancel(asks if question.done() else f"it took longer than {longest:g} s")
        return await ended
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def _cost(end: RunEnd) -> float:
    return 0.0 if end.result is None else end.result.cost or 0.0


def _grade(name: str, grader: GraderDocument, run_id: str, end: RunEnd, spent: float) -> Grade:
    output: JsonValue = None if end.result is None else end.result.output
    try:
        verdict = JudgeOutput.model_validate(output) if end.completed else None
    except ValidationError:
        verdict = None
    if end.result is None or verdict is None:
        because = incomplete_reason(end) or "its output is not a verdict"
        raise Unjudged(
            f"the judge of {name!r} failed: {because}; see coterie why {quote(run_id)}", spent
        )
    return Grade(
        grader=name,
        passed=verdict.score >= grader.min_score,
        because=f"{verdict.score} of 10, wanted {grader.min_score}: {verdict.reason}",
        score=verdict.score,
        run=run_id,
        model_calls=end.result.model_calls,
        cost=spent if end.result.cost is not None or spent else None,
    )
