"""Problems of parallel steps: which branches run, how they join, what a strategy does not read."""

from collections.abc import Collection

from coterie.dsl.errors import listed, nearest
from coterie.dsl.problem_details import ProblemText, Remove, rule
from coterie.dsl.wording.step_names import called


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


@rule("W517")
def losers_without_effect(step: str) -> ProblemText:
    return ProblemText(
        f"`losers` has no effect: {called(step)} needs all its branches, so none is left over",
        fix="write `join: any`, or how many are enough, or remove `losers`",
    )


@rule("E103")
def branches_wanted(step: str, branches: Collection[str]) -> ProblemText:
    return ProblemText(
        f"`only` of {step!r} is not a list of its branches",
        listed(branches),
        "write a list of names, or a template for one",
    )


@rule("E103")
def score_is_no_number(branch: str, value: str) -> ProblemText:
    return ProblemText(
        f"the score of the branch {branch!r} is {value}", "a number, or a template for one"
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


@rule("W525")
def conflicting_branches(step: str, path: str, branches: tuple[str, ...]) -> ProblemText:
    named = f"{', '.join(map(repr, branches[:-1]))} and {branches[-1]!r}"
    return ProblemText(
        f"the branches {named} of {called(step)} write the context's {path!r} at once, which fails "
        "the step with ContextConflict",
        fix="write `append`, `extend` or `increment` in all of them, or say in "
        f"{step!r}: `merge: {{ context.{path}: replace }}`",
    )


@rule("W525")
def conflicting_rounds(step: str, path: str, variable: str) -> ProblemText:
    return ProblemText(
        f"the concurrent rounds of {called(step)} all write the context's {path!r}, which fails "
        "the step with ContextConflict",
        fix="write `append`, `extend` or `increment`, or a key of its own for each round, like "
        f"`{path}.{{{{ {variable or 'item'} }}}}`",
    )
