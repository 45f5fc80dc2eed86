"""Parallel: named branches, concurrent or one after another, until enough have ended."""

from collections.abc import Callable, Container, Coroutine, Set
from functools import partial
from typing import NamedTuple

from pydantic import JsonValue

from coterie.dsl.errors import ContextConflict, TemplateFailed
from coterie.dsl.evaluate.branch_writes import joined as joined_writes
from coterie.dsl.evaluate.context_writes import ContextWrite
from coterie.dsl.evaluate.strategies import (
    RESULT_KEYS,
    BranchResult,
    Join,
    RefusedStrategy,
    chosen_branches,
    chosen_join,
    chosen_score,
    is_enough,
    winner_of,
)
from coterie.dsl.json_values import json_equal
from coterie.dsl.model.merge import merged_by
from coterie.dsl.model.outcomes import Outcome
from coterie.dsl.model.retryability import easiest, hardest
from coterie.dsl.model.step_kinds.join_policies import CONTEXT, MergePolicy
from coterie.dsl.model.steps import ParallelStep
from coterie.dsl.model.traversal.step_walk import walk
from coterie.dsl.templates.template_filling import fill
from coterie.dsl.values import Json
from coterie.workflows.context_drafts import failed_write, take_draft, write
from coterie.workflows.core.causes.step_causes import BranchRanked, Failed, StepStated
from coterie.workflows.core.causes.trail_causes import TrailCause
from coterie.workflows.core.location import Interpreter, Location
from coterie.workflows.core.progress.progress_kinds import ParallelProgress
from coterie.workflows.core.scope import Scope
from coterie.workflows.core.trail import note_step


class JoinedBranches(NamedTuple):
    """The branches that run, in written order, and how they join."""

    names: list[str]
    join: Join


def branch_outcome(
    step: ParallelStep,
    name: str,
    ended: Outcome,
    join: Join,
    seconds: float,
    location: Location,
    scope: Scope,
    progress: ParallelProgress,
) -> Outcome:
    """Return the outcome of a branch: skipped only if none of its steps ran, and scored if needed.

    A score must be a number, else the branch fails.
    """
    tasks = location.frame(scope).tasks
    steps = step.branch(name).steps
    if ended.status != "failure":
        ran = any(tasks[inner_step.name].status != "skipped" for inner_step in steps)
        ended = Outcome("success" if ran else "skipped", ended.data)
    ended = ended.timed(seconds)
    score = step.branch(name).score
    if score is None or join != "best" or not ended.success:
        return ended
    try:
        filled = fill(score, location.facts(scope).of_result(ended).names())
    except TemplateFailed as error:
        return Outcome.failed(type(error).__name__, str(error), ended.data).timed(seconds)
    value = chosen_score(name, filled)
    if isinstance(value, RefusedStrategy):
        return Outcome.failed(value.type, value.message, ended.data).timed(seconds)
    progress.scores[name] = value
    return ended


def joined(
    step: ParallelStep,
    branches: JoinedBranches,
    progress: ParallelProgress,
    location: Location,
    scope: Scope,
) -> Outcome:
    """Merge what the branches leave, note each in the trail, and return the step's outcome."""
    results = {name: _result(step, name, progress) for name in branches.names}
    winner = winner_of(branches.join, list(results.values()), list(progress.ended))
    kept_branches = {winner} if branches.join in ("fallback", "best") else set(progress.ended)
    failed = {name for name, outcome in progress.ended.items() if outcome.status == "failure"}
    branch_writes = _take_over(step, kept_branches, failed, location, scope)
    data: Json = {}
    for name in step.branches:
        outcome = progress.ended.get(name)
        chosen = name in branches.names
        status = _status(outcome, branches.join if chosen else None)
        cause = _cause(outcome, results[name], winner, branches.join) if chosen else _NOT_CHOSEN
        seconds = None if outcome is None else outcome.seconds
        note_step(scope, location.at(name), status, cause, seconds)
        data[name] = _branch_data(status, outcome, progress.scores.get(name))
    scope.state.forget_steps(location.key, set(step.branches))
    if branches.join != "all":
        won = None if winner is None else progress.ended[winner].data
        data |= dict(zip(RESULT_KEYS, (winner, won), strict=True))
    refused = failed_write(lambda: _keep(step, branch_writes, location, scope), data)
    return refused or _verdict(branches, progress.ended, data)


_NOT_CHOSEN = StepStated("not_chosen")


def _result(step: ParallelStep, name: str, progress: ParallelProgress) -> BranchResult:
    outcome = progress.ended.get(name, Outcome.skipped())
    priority, score = step.branch(name).priority, progress.scores.get(name)
    return BranchResult(name, outcome.success, priority, score, outcome.seconds)


def _status(outcome: Outcome | None, join: Join | None) -> str:
    if outcome is not None:
        return outcome.status
    return "skipped" if join in (None, "fallback") else "cancelled"


def _branch_data(status: str, outcome: Outcome | None, score: float | None) -> Json:
    error = None if outcome is None or outcome.error is None else outcome.error
    return {
        "status": status,
        "success": status == "success",
        "data": None if outcome is None else outcome.data,
        "error": None if error is None else {"type": error.type, "message": error.message},
        "score": score,
        "seconds": 0.0 if outcome is None else outcome.seconds,
    }


def _cause(
    outcome: Outcome | None, result: BranchResult, winner: str | None, join: Join
) -> TrailCause | None:
    """Return why a branch ended as it did; under `best`, also what ranked it."""
    if outcome is None:
        return StepStated("not_needed")
    if outcome.error is not None:
        return Failed("branch_failed", outcome.error)
    if winner is None or not outcome.success:
        return None
    won = result.name == winner
    if join == "best":
        code = "branch_won" if won else "branch_lost"
        return BranchRanked(code, winner, result.priority, result.score)
    return StepStated("first_success") if join == "fallback" and won else None


class _Left(NamedTuple):
    """What branches leave to the frame and the context, in written order."""

    variables: dict[str, list[tuple[str, JsonValue]]]
    """`{variable: its values, each with the branch that set it}`."""
    context: dict[str, list[ContextWrite]]
    """`{branch: what it has written}`."""


def _take_over(
    step: ParallelStep,
    kept_branches: Container[str | None],
    failed: Container[str],
    location: Location,
    scope: Scope,
) -> _Left:
    """Take over the outcomes of all steps that ran; return what `kept_branches` leave."""
    frame = location.frame(scope)
    before = dict(frame.variables)
    variable_values: dict[str, list[tuple[str, JsonValue]]] = {}
    context_writes: dict[str, list[ContextWrite]] = {}
    for name, branch in step.ranked_branches.items():
        inner = location.at(name).branched(name, scope)
        ended = inner.frame(scope)
        draft = take_draft(inner.frame_key, scope)
        if name in kept_branches and name not in failed:
            context_writes[name] = draft
        for inner_step, _ in walk(branch.steps, ()):
            if inner_step.name in ended.tasks and inner_step.name not in ended.earlier:
                frame.end(inner_step.name, ended.tasks[inner_step.name])
        for variable, value in ended.variables.items() if name in kept_branches else ():
            if variable not in before or _differs(before[variable], value):
                variable_values.setdefault(variable, []).append((name, value))
        del scope.state.frames[inner.frame_key]
    return _Left(variable_values, context_writes)


def _keep(step: ParallelStep, branch_writes: _Left, location: Location, scope: Scope) -> None:
    """Join what the branches leave, all or nothing.

    Raises:
        ContextConflict: two of them set the same variable or path, and no policy decides.
        TeamError: as `write` does.
    """
    merged = {
        name: _merge_values(step, name, values) for name, values in branch_writes.variables.items()
    }
    write(location, _context_writes(step, branch_writes.context), scope, repr(step.name))
    location.frame(scope).variables.update(merged)


def _context_writes(
    step: ParallelStep, branches: dict[str, list[ContextWrite]]
) -> tuple[ContextWrite, ...]:
    """Join the context writes of the branches that succeeded, in written order."""
    policies: dict[str, MergePolicy] = {
        name.removeprefix(CONTEXT): policy
        for name, policy in step.merge.items()
        if name.startswith(CONTEXT)
    }
    return joined_writes(
        branches,
        policies,
        lambda path: (
            f"use `append`, `extend` or `increment`, or say in {step.name!r}: "
            f"`merge: {{{CONTEXT}{path}: replace | extend | merge}}`"
        ),
    )


def _differs(before: JsonValue, value: JsonValue) -> bool:
    return before is not value and not json_equal(before, value)


def _merge_values(
    step: ParallelStep, variable: str, values: list[tuple[str, JsonValue]]
) -> JsonValue:
    policy = step.merge.get(variable)
    if len(values) > 1 and policy is None:
        writers = " and ".join(repr(name) for name, _ in values)
        raise ContextConflict(
            f"the branches {writers} of {step.name!r} both set the variable {variable!r}; say "
            f"which with `merge: {{{variable}: replace | extend | merge}}`"
        )
    return merged_by(policy or "replace", [value for _, value in values])


def _verdict(branches: JoinedBranches, outcomes: dict[str, Outcome], data: Json) -> Outcome:
    failures = {n: o for n, o in outcomes.items() if o.status == "failure"}
    good = sum(outcome.success for outcome in outcomes.values())
    join = branches.join
    quorum = join if isinstance(join, int) else 1
    if (join == "all" and not failures) or (join != "all" and good >= quorum):
        return Outcome.succeeded(data)
    messages = "; ".join(f"{n}: {o.error.message}" for n, o in failures.items() if o.error)
    first = next((o.error.type for o in failures.values() if o.error), "Failed")
    roots = [outcome.root_error for outcome in failures.values()]
    root = hardest(roots) if join == "all" else easiest(roots)
    need = "" if join == "all" else f"{good} of {quorum} needed branches succeeded; "
    return Outcome.failed(first, f"{need}{messages}".removesuffix("; "), data, root=root)


async def execute(
    step: ParallelStep, location: Location, scope: Scope, interpreter: Interpreter
) -> Outcome:
    """Run the branches; the data has each one's outcome, and the winner's where there is one."""
    parallels, key = scope.state.progress.parallels, location.key
    progress = parallels.get(key)
    if progress is None:
        begun = _begin(step, location, scope)
        if isinstance(begun, RefusedStrategy):
            return Outcome.failed(begun.type, begun.message)
        progress = parallels[key] = begun
    branches = _branches(step, progress)
    running = _Running(step, branches, progress, location, scope, interpreter)
    await (running.one_by_one() if branches.join == "fallback" else running.concurrently())
    parallels.pop(key, None)
    return joined(step, branches, progress, location, scope)


def at_timeout(step: ParallelStep, location: Location, scope: Scope) -> Outcome | None:
    """Return the outcome of the branches that ended, if the best of them can win; else None."""
    progress = scope.state.progress.parallels.get(location.key)
    if progress is None or not any(outcome.success for outcome in progress.ended.values()):
        return None
    branches = _branches(step, progress)
    if branches.join != "best":
        return None
    return joined(step, branches, progress, location, scope)


def _begin(
    step: ParallelStep, location: Location, scope: Scope
) -> ParallelProgress | RefusedStrategy:
    """Choose the branches and how they join, once for the whole step."""
    names = list(step.branches)
    only = join = None
    facts = location.facts(scope).names()
    if step.only is not None:
        only = chosen_branches(step.name, fill(step.only, facts), names)
        if isinstance(only, RefusedStrategy):
            return only
    if step.only is not None or isinstance(step.join, str):
        join = chosen_join(step.name, fill(step.join, facts), only or names)
        if isinstance(join, RefusedStrategy):
            return join
    return ParallelProgress(only=only, join=None if join == step.join else join)


def _branches(step: ParallelStep, progress: ParallelProgress) -> JoinedBranches:
    names = list(step.branches) if progress.only is None else progress.only
    join = step.join if progress.join is None else progress.join
    checked = chosen_join(step.name, join, step.branches)
    return JoinedBranches(names, "all" if isinstance(checked, RefusedStrategy) else checked)


class _Running:
    """The branches of one step in progress."""

    def __init__(
        self,
        step: ParallelStep,
        branches: JoinedBranches,
        progress: ParallelProgress,
        location: Location,
        scope: Scope,
        interpreter: Interpreter,
    ) -> None:
        self._step = step
        self._names = branches.names
        self._join: Join = branches.join
        self._progress = progress
        self._location = location
        self._scope = scope
        self._interpreter = interpreter
        self._good = sum(outcome.success for outcome in progress.ended.values())

    async def one_by_one(self) -> None:
        """Run one branch after another until one succeeds; the others never start."""
        for name in self._names:
            if self._enough(frozenset()):
                return
            if name not in self._progress.ended:
                await self._run(name)

    async def concurrently(self) -> None:
        """Run all branches at the same time, until enough of them have ended."""
        jobs: dict[str, Callable[[], Coroutine[None, None, None]]] = {
            name: partial(self._run, name)
            for name in self._names
            if name not in self._progress.ended
        }
        begun = self._progress.started.keys() - self._progress.ended
        if self._step.losers == "finish":
            await self._scope.together(
                jobs, enough=lambda finished: len(finished) == len(jobs), begun=begun
            )
        else:
            await self._scope.together(jobs, enough=self._enough, begun=begun)

    async def _run(self, name: str) -> None:
        progress, scope = self._progress, self._scope
        inner = self._location.at(name).branched(name, scope)
        began = progress.started.setdefault(name, scope.time())
        steps = self._step.branch(name).steps
        ended = await self._interpreter.run_steps(steps, inner, part="branch")
        duration = scope.time() - began
        outcome = branch_outcome(
            self._step, name, ended, self._join, duration, inner, scope, progress
        )
        progress.ended[name] = outcome
        self._good += outcome.success

    def _enough(self, finished: Set[str]) -> bool:
        return is_enough(self._join, self._good, len(self._progress.ended), len(self._names))
