"""Parallel: named branches, concurrent or one after another, until enough have ended."""

from collections.abc import Callable, Coroutine, Set
from functools import partial

from coterie.dsl.evaluate.strategies import (
    Join,
    RefusedStrategy,
    chosen_branches,
    chosen_join,
    is_enough,
)
from coterie.dsl.model.outcomes import Outcome
from coterie.dsl.model.steps import ParallelStep
from coterie.dsl.templates.template_filling import fill
from coterie.workflows.branch_results import JoinedBranches, branch_outcome, joined
from coterie.workflows.core.location import Interpreter, Location
from coterie.workflows.core.progress.progress_kinds import ParallelProgress
from coterie.workflows.core.scope import Scope


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
        taken = scope.time() - began
        outcome = branch_outcome(self._step, name, ended, self._join, taken, inner, scope, progress)
        progress.ended[name] = outcome
        self._good += outcome.success

    def _enough(self, finished: Set[str]) -> bool:
        return is_enough(self._join, self._good, len(self._progress.ended), len(self._names))
