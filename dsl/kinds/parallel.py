"""Named branches that run at the same time."""

from collections.abc import Collection, Iterable, Iterator

from typing_extensions import override

from coterie.dsl.checks.steps.step_scope import StepScope
from coterie.dsl.checks.steps.write_conflicts import check_branch_writes
from coterie.dsl.errors import closest, listed, nearest
from coterie.dsl.evaluate.strategies import RESULT_KEYS, RefusedStrategy, chosen_score
from coterie.dsl.kinds.kind import Kind, StepWords
from coterie.dsl.model.plan import Plan
from coterie.dsl.model.step_kinds.join_policies import CONTEXT
from coterie.dsl.model.step_kinds.parallel_step import ParallelBranch
from coterie.dsl.model.steps import ParallelStep
from coterie.dsl.model.traversal.step_walk import variables, walk
from coterie.dsl.paths import Path
from coterie.dsl.paths import parse as parse_path
from coterie.dsl.problem_details import ProblemText, Remove, rule
from coterie.dsl.problem_texts import DidYouMean, UnlistedValue, WrongValue, called
from coterie.dsl.source.nodes import Node, Place
from coterie.dsl.templates.jsonable import brief
from coterie.dsl.templates.path_templates import fixed_part
from coterie.dsl.templates.template import is_template
from coterie.dsl.values import JsonValue, NodePath

_JOINED = {
    "all": "until all ended",
    "any": "until any succeeded",
    "fallback": "one after another until one succeeded",
    "best": "all run, the best wins",
}


_ONE_WINNER = ("fallback", "best")


@rule("E106")
def too_many_to_join(wanted: int, branches: int) -> ProblemText:
    return ProblemText(
        f"`join` needs {wanted} branches to succeed, and there are {branches}",
        f"all, any, or a number up to {branches}",
    )


@rule("E105")
def merge_of_unset(step: str, name: str, known: Collection[str]) -> ProblemText:
    return ProblemText(
        f"no branch of {called(step)} sets {name!r}",
        f"the variables that a branch sets: {listed(known)}",
        nearest(name, known) or f"set {name!r} in a branch, or remove it from `merge`",
    )


@rule("E105")
def reserved_branch(step: str, name: str) -> ProblemText:
    return ProblemText(
        f"{name!r} cannot be a branch of {step!r}: its data has the key {name!r} already",
        fix="give the branch another name",
    )


@rule("E107")
def unread_by_join(step: str, key: str, join: str) -> ProblemText:
    why = (
        "only the winner leaves variables, and nothing else is cut"
        if key in ("losers", "merge")
        else "only `join: best` ranks its branches"
    )
    return ProblemText(
        f"`{key}` of {step!r} has no effect with `join: {join}`: {why}",
        fix=f"remove `{key}`",
        edit=Remove(key),
    )


class ParallelKind(Kind[ParallelStep]):
    """Named branches that run at the same time."""

    sign = "M5.5 3v10M10.5 3v10"
    beginning = "parallel, "

    @override
    def check(self, scope: StepScope, step: ParallelStep, path: NodePath) -> None:
        _only(scope, step, (*path, "only"))
        maximum = len(possible_branches(step))
        if isinstance(step.join, int) and step.join > maximum:
            key_path = (*path, "join")
            node = scope.tree.find(key_path)
            scope.problems.report(too_many_to_join(step.join, maximum), Place(node.mark, key_path))
        for name in RESULT_KEYS if step.join != "all" else ():
            if name in step.branches:
                scope.report(reserved_branch(step.name, name), (*path, "branches", name))
        for key_path in _unread(scope.tree, step, path):
            scope.report(unread_by_join(step.name, str(key_path[-1]), str(step.join)), key_path)
        _scores(scope, step, path)
        check_branch_writes(scope, step, path)
        variable_names = {
            name for branch in step.ranked_branches.values() for name in variables(branch.steps)
        }
        paths = {
            fixed_part(key)
            for branch in step.ranked_branches.values()
            for inner, _ in walk(branch.steps, ())
            for key in inner.context_updates
        }
        above = {
            update_path[:length] for update_path in paths for length in range(len(update_path))
        }
        for name in step.merge:
            if name not in variable_names and not _is_written(name, paths, above):
                choices = variable_names if scope.problems.describes("E105") else set[str]()
                scope.report(merge_of_unset(step.name, name, choices), (*path, "merge", name))

    @override
    def details(self, step: ParallelStep, plan: Plan, words: StepWords) -> Iterable[str]:
        yield words.counted(len(step.branches), "branch", "branches")
        if step.only is not None:
            yield f"only {words.value(step.only)}"
        if isinstance(step.join, str):
            yield _JOINED.get(step.join) or f"joined as {words.value(step.join)}"
        else:
            yield f"until {step.join} succeeded"


def possible_branches(step: ParallelStep) -> list[str]:
    """Return the branches that may run: those that `only` lists, or all."""
    if not isinstance(step.only, list) or any(_may_be_any(name) for name in step.only):
        return list(step.branches)
    only = {name for name in step.only if isinstance(name, str)}
    return [name for name in step.branches if name in only]


def _may_be_any(name: object) -> bool:
    return isinstance(name, str) and is_template(name)


@rule("E103")
def branches_wanted(step: str, branches: Collection[str]) -> ProblemText:
    return ProblemText(
        f"`only` of {step!r} is not a list of its branches",
        listed(branches),
        "write a list of names, or a template for one",
    )


def _only(scope: StepScope, step: ParallelStep, path: NodePath) -> None:
    """Note a value that is not a list, and listed names that no branch has."""
    match step.only:
        case None:
            return
        case list() as names if names:
            for index, name in enumerate(names):
                _check_branch_name(scope, step, name, (*path, index))
        case str() as text if is_template(text):
            return
        case _:
            scope.report_value(branches_wanted(step.name, step.branches), path)


def _check_branch_name(
    scope: StepScope, step: ParallelStep, name: JsonValue, path: NodePath
) -> None:
    if not isinstance(name, str):
        scope.report_value(branches_wanted(step.name, step.branches), path)
    elif not is_template(name) and name not in step.branches:
        choices = tuple(step.branches) if scope.problems.describes("E105") else ()
        likely_name = closest(name, choices)
        fix = None if likely_name is None else DidYouMean(likely_name)
        scope.report_value(UnlistedValue(WrongValue("only"), name, choices, fix), path)


@rule("E103")
def score_is_no_number(branch: str, value: str) -> ProblemText:
    return ProblemText(
        f"the score of the branch {branch!r} is {value}", "a number, or a template for one"
    )


def _scores(scope: StepScope, step: ParallelStep, path: NodePath) -> None:
    """Note a written score that is not a number."""
    for name, branch in step.ranked_branches.items():
        score = branch.score
        if score is None or (isinstance(score, str) and is_template(score)):
            continue
        if isinstance(chosen_score(name, score), RefusedStrategy):
            details = score_is_no_number(name, brief(score))
            scope.report_value(details, (*path, "branches", name, "score"))


def _unread(tree: Node, step: ParallelStep, path: NodePath) -> Iterator[NodePath]:
    """Yield the keys that the way of joining does not read."""
    if step.join in _ONE_WINNER:
        for key in ("losers", "merge"):
            if key in tree.find(path).entries():
                yield (*path, key)
    if step.join == "best" or (isinstance(step.join, str) and is_template(step.join)):
        return
    for name, branch in step.branches.items():
        if isinstance(branch, ParallelBranch):
            for key in ("priority", "score"):
                if key in branch.model_fields_set:
                    yield (*path, "branches", name, key)


def _is_written(name: str, paths: Collection[Path], above: Collection[Path]) -> bool:
    """Return whether a name of `merge` is a path of the context that a branch can write.

    Args:
        name: as written.
        paths: those that the branches write.
        above: those above them.
    """
    if not name.startswith(CONTEXT):
        return False
    path = parse_path(name.removeprefix(CONTEXT))
    return path in above or any(path[:length] in paths for length in range(len(path) + 1))
