"""Context updates of concurrent branches and rounds that cannot join, whichever ends first."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from coterie.dsl.checks.steps.step_scope import StepScope
from coterie.dsl.evaluate.branch_writes import write_conflicts
from coterie.dsl.evaluate.context_writes import ContextWrite, written_value
from coterie.dsl.model.step_kinds.join_policies import CONTEXT, MergePolicy
from coterie.dsl.model.step_kinds.parallel_step import ParallelBranch
from coterie.dsl.model.steps import BlockStep, LoopStep, ParallelStep, Step
from coterie.dsl.model.template_bound import maximum_of
from coterie.dsl.paths import parse, path_text
from coterie.dsl.problem_details import ProblemText, rule
from coterie.dsl.problem_texts import called
from coterie.dsl.templates.template import is_template
from coterie.dsl.values import NodePath


class _WriteWithPath(NamedTuple):
    write: ContextWrite
    path: NodePath


@rule("W525")
def conflicting_branches(step: str, path: str, branches: tuple[str, ...]) -> ProblemText:
    named = f"{', '.join(map(repr, branches[:-1]))} and {branches[-1]!r}"
    return ProblemText(
        f"the branches {named} of {called(step)} write the context's {path!r} at once, which fails "
        "the step with ContextConflict",
        fix="write `append`, `extend` or `increment` in all of them, or say in "
        f"{step!r}: `merge: {{ context.{path}: replace }}`",
    )


def check_branch_writes(scope: StepScope, step: ParallelStep, path: NodePath) -> None:
    """Warn of paths that several branches write, if all of them join and all succeed."""
    if step.join != "all" and (step.losers != "finish" or not _joins_all(step)):
        return
    if step.only is not None and (not isinstance(step.only, list) or any(map(_open, step.only))):
        return
    only = None if step.only is None else {name for name in step.only if isinstance(name, str)}
    running = {
        name: list(_certain(branch.steps, _branch_path(step, name, path)))
        for name, branch in step.ranked_branches.items()
        if only is None or name in only
    }
    policies: dict[str, MergePolicy] = {
        name.removeprefix(CONTEXT): policy
        for name, policy in step.merge.items()
        if name.startswith(CONTEXT)
    }
    writes = {name: [item.write for item in own] for name, own in running.items()}
    by_place, places = list(running), {name: place for place, name in enumerate(running)}
    for conflict in write_conflicts(writes, policies):
        key_path = running[by_place[conflict.last.branch]][conflict.last.number].path
        if scope.problems.has("W525", key_path):
            continue  # one path within the other
        names = tuple(sorted(conflict.writers, key=places.__getitem__))
        scope.report(conflicting_branches(step.name, conflict.written, names), key_path)


def _joins_all(step: ParallelStep) -> bool:
    """Whether all branches that succeed leave their writes, where enough is not all."""
    return isinstance(step.join, int) or step.join == "any"


def _branch_path(step: ParallelStep, branch: str, path: NodePath) -> NodePath:
    """Return where the steps of a branch are written."""
    here = (*path, "branches", branch)
    return (*here, "steps") if isinstance(step.branches[branch], ParallelBranch) else here


@rule("W525")
def conflicting_rounds(step: str, path: str, variable: str) -> ProblemText:
    return ProblemText(
        f"the concurrent rounds of {called(step)} all write the context's {path!r}, which fails "
        "the step with ContextConflict",
        fix="write `append`, `extend` or `increment`, or a key of its own for each round, like "
        f"`{path}.{{{{ {variable or 'item'} }}}}`",
    )


def check_round_writes(scope: StepScope, step: LoopStep, path: NodePath) -> None:
    """Warn of paths that each of several concurrent rounds writes."""
    if maximum_of(step.concurrency) <= 1 or step.iterate_on is None:
        return
    maximum = float("inf") if step.max_iterations is None else maximum_of(step.max_iterations)
    if min(maximum, len(step.iterate_on) if isinstance(step.iterate_on, list) else maximum) <= 1:
        return
    own = list(_certain(step.body, (*path, "body")))
    writes = [item.write for item in own]
    for conflict in write_conflicts({"one": writes, "other": writes}, {}):
        key_path = own[conflict.last.number].path
        if scope.problems.has("W525", key_path):
            continue
        variable = step.loop_variable or ""
        scope.report(conflicting_rounds(step.name, conflict.written, variable), key_path)


def _certain(steps: Sequence[Step], path: NodePath) -> Iterator[_WriteWithPath]:
    """Yield the writes of steps that run whenever none before them fails."""
    for index, step in enumerate(steps):
        if step.when is not None:
            continue
        here = (*path, index)
        if isinstance(step, BlockStep):
            yield from _certain(step.steps, (*here, "steps"))
        for key, value in step.context_updates.items():
            operation, operand = written_value(value)
            is_known = operation != "merge" or not _open(operand)
            if is_known and not is_template(key) and all(parse(key)):
                write = ContextWrite(path_text(parse(key)), operand, operation)
                yield _WriteWithPath(write, (*here, "context_updates", key))
        if step.ends_list:
            return


def _open(value: object) -> bool:
    return isinstance(value, str) and is_template(value)
