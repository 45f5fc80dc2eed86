"""Problems of loops, of their lists, and of bounds."""

from collections.abc import Sequence

from coterie.dsl.problem_details import ProblemText, rule
from coterie.dsl.wording.step_names import called


@rule("E102")
def loop_without_rounds(step: str) -> ProblemText:
    return ProblemText(
        f"{called(step, 'the loop')} has no list and no condition",
        "iterate_on, while, until",
        "add one of these keys",
    )


@rule("E102")
def loop_variable_missing(step: str) -> ProblemText:
    return ProblemText(
        f"the key 'loop_variable' is missing: nothing names the item of {called(step)}",
        fix="add `loop_variable: item`",
    )


@rule("E103")
def not_a_bound(found: str, *, is_length: bool) -> ProblemText:
    what = "a duration or a template" if is_length else "a whole number or one template"
    number, maximum = ("90s", "10m") if is_length else ("5", "10")
    return ProblemText(
        f"a bound is {what} for it, not {found}",
        fix=f'write `{number}`, or `{{value: "{{{{ ... }}}}", maximum: {maximum}}}`',
    )


@rule("E102")
def bound_without_maximum(
    owner: str, key: str, template: str, path: tuple[str, ...] | None, *, is_length: bool
) -> ProblemText:
    maximum, seconds = ("10m", "maximum: 600") if is_length else ("10", "maximum: 10")
    declared = "" if path is None else f", or declare {'.'.join(path)!r} with `{seconds}`"
    return ProblemText(
        f"`{key}` of {owner} is a template without a maximum, so nothing bounds a run",
        fix=f'write `{key}: {{value: "{template}", maximum: {maximum}}}`{declared}',
    )


@rule("E102")
def unbounded_loop(step: str) -> ProblemText:
    return ProblemText(f"{called(step, 'the loop')} has no bound", fix="add `max_iterations: 10`")


@rule("E107")
def dependent_rounds(step: str) -> ProblemText:
    return ProblemText(
        f"each round of {called(step)} needs the one before it, so they cannot run at once",
        fix="use `iterate_on`, or remove `concurrency`",
    )


@rule("E107")
def condition_between_rounds(step: str, keys: Sequence[str]) -> ProblemText:
    named = " and ".join(f"`{key}`" for key in keys)
    return ProblemText(
        f"concurrent rounds of {called(step)} cannot stop by {named}, which a round decides for "
        "the next one",
        fix=f"remove `concurrency`, or {named}",
    )


_LISTS = "a list, or one template expression that gives one"


@rule("E108")
def path_without_braces(key: str, path: str) -> ProblemText:
    return ProblemText(
        f"{key!r} is the path {path!r} without braces", _LISTS, f'write `"{{{{ {path} }}}}"`'
    )


@rule("E103")
def not_a_list(key: str, shown: str) -> ProblemText:
    return ProblemText(f"{key!r} is {shown}", _LISTS)


@rule("E208")
def loop_variable_taken(name: str, loop: str) -> ProblemText:
    return ProblemText(
        f"{name!r} is already the item of {loop!r} around this one",
        fix="give the inner item its own name",
    )
