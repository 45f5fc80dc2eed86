"""The lists of steps that a step or a plan holds: what each is, and where it is written.

Walks ask only this module which steps hold others. Analyses that follow the order of steps also
match on the kinds.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from pydantic import JsonValue

from coterie.dsl.model.conditions import Condition
from coterie.dsl.model.plan import Plan
from coterie.dsl.model.steps import (
    BlockStep,
    BranchStep,
    LoopStep,
    NamedBranch,
    ParallelBranch,
    ParallelStep,
    Step,
    TaskGraphStep,
    TryStep,
)
from coterie.dsl.values import NodePath


@dataclass(frozen=True, slots=True)
class EachRound:
    """The body of a loop."""


@dataclass(frozen=True, slots=True)
class Choosing:
    """The steps of a task graph that choose the next task."""


@dataclass(frozen=True, slots=True)
class EachTask:
    """The steps of each task of a task graph."""


@dataclass(frozen=True, slots=True)
class OnFailedTask:
    """The steps of a task graph for a task that has failed."""


@dataclass(frozen=True, slots=True)
class WhenHolds:
    """A branch that its condition chooses."""

    condition: Condition


@dataclass(frozen=True, slots=True)
class Otherwise:
    """The branch that no condition chooses."""


@dataclass(frozen=True, slots=True)
class Concurrent:
    """A named branch of a parallel step."""

    name: str
    priority: int = 0
    score: JsonValue = None


@dataclass(frozen=True, slots=True)
class Tried:
    """The steps of a try."""


@dataclass(frozen=True, slots=True)
class Grouped:
    """The steps of a block."""


@dataclass(frozen=True, slots=True)
class OnError:
    """The steps of a catch clause."""

    errors: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class AtTheEnd:
    """The `finally` of a try."""


ListRole = (
    EachRound
    | Choosing
    | EachTask
    | OnFailedTask
    | WhenHolds
    | Otherwise
    | Concurrent
    | Tried
    | Grouped
    | OnError
    | AtTheEnd
)


class StepList(NamedTuple):
    """Steps that run one after the other within a step."""

    steps: Sequence[Step]
    path: NodePath
    """Where they are written."""
    role: ListRole


def step_lists(step: Step, path: NodePath = ()) -> Iterable[StepList]:
    """Return the lists of steps inside a step, empty ones too, in written order."""
    return _lists_of(step, path) if step.kind in _HOLDERS else ()


_HOLDERS = frozenset({"loop", "branch", "parallel", "task_graph", "block", "try"})
"""The kinds that hold steps: most steps hold none, and need no look at their type."""


def _lists_of(  # noqa: C901  # one case a kind: that is the point
    step: Step, path: NodePath
) -> Iterator[StepList]:
    match step:
        case LoopStep(body=body):
            yield StepList(body, (*path, "body"), EachRound())
        case BranchStep(branches=branches, otherwise=otherwise):
            for index, one in enumerate(branches):
                key_path = (*path, "branches", index, "steps")
                yield StepList(one.steps, key_path, WhenHolds(one.condition))
            yield StepList(otherwise, (*path, "otherwise"), Otherwise())
        case ParallelStep(branches=named):
            for name, one in named.items():
                key_path = (*path, "branches", name)
                if isinstance(one, ParallelBranch):
                    role = Concurrent(name, one.priority, one.score)
                    yield StepList(one.steps, (*key_path, "steps"), role)
                else:
                    yield StepList(one, key_path, Concurrent(name))
        case TaskGraphStep(select=select, body=body, on_failed_task=failed):
            yield StepList(select, (*path, "select"), Choosing())
            yield StepList(body, (*path, "body"), EachTask())
            recovery = failed if isinstance(failed, tuple) else ()
            yield StepList(recovery, (*path, "on_failed_task"), OnFailedTask())
        case BlockStep(steps=steps):
            yield StepList(steps, (*path, "steps"), Grouped())
        case TryStep(steps=steps, catch=clauses, finally_=last):
            yield StepList(steps, (*path, "steps"), Tried())
            for index, clause in enumerate(clauses):
                key_path = (*path, "catch", index, "steps")
                yield StepList(clause.steps, key_path, OnError(clause.errors))
            yield StepList(last, (*path, "finally"), AtTheEnd())
        case _:
            return


Change = Callable[[Sequence[Step], NodePath], tuple[Step, ...]]


def rebuilt(step: Step, path: NodePath, change: Change) -> Step:
    """Return the step with each list of steps inside it changed."""
    changed = iter([change(one.steps, one.path) for one in step_lists(step, path)])
    update: dict[str, object]
    match step:
        case LoopStep():
            update = {"body": next(changed)}
        case BranchStep(branches=branches):
            cases = tuple(one.model_copy(update={"steps": next(changed)}) for one in branches)
            update = {"branches": cases, "otherwise": next(changed)}
        case ParallelStep(branches=named):
            update = {"branches": {n: _with_steps(one, next(changed)) for n, one in named.items()}}
        case TaskGraphStep(on_failed_task=failed):
            update = {"select": next(changed), "body": next(changed)}
            recovery = next(changed)
            if isinstance(failed, tuple):
                update["on_failed_task"] = recovery
        case BlockStep():
            update = {"steps": next(changed)}
        case TryStep(catch=clauses):
            tried = next(changed)
            caught = tuple(one.model_copy(update={"steps": next(changed)}) for one in clauses)
            update = {"steps": tried, "catch": caught, "finally_": next(changed)}
        case _:
            return step
    return step.model_copy(update=update)


def _with_steps(branch: NamedBranch, steps: tuple[Step, ...]) -> NamedBranch:
    if isinstance(branch, ParallelBranch):
        return branch.model_copy(update={"steps": steps})
    return steps


def lists_of_plan(plan: Plan) -> Iterator[tuple[Step, ...]]:
    """Yield the steps of every team, and of every execution plan."""
    yield from (team.steps for team in plan.teams.values())
    yield from (persona.execution_plan or () for persona in plan.personas.values())
