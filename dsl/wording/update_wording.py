"""Problems of `context_updates`."""

from coterie.dsl.errors import listed, nearest, replaced_by_nearest
from coterie.dsl.problem_details import ProblemText, rule

_OPERATIONS = ("append", "extend", "merge", "increment", "remove")

_TAKES = {
    "extend": ("a list", "write `append` to add one value"),
    "merge": (
        "a mapping",
        "write a mapping, or the value without `merge` to replace what is there",
    ),
    "increment": ("a number", "write a number, or a template that gives one"),
}


@rule("E103")
def operand_mismatch(operation: str, path: str, kind: str) -> ProblemText:
    wanted, fix = _TAKES[operation]
    return ProblemText(
        f"`{operation}` takes {wanted}, and the update of {path!r} gives it {kind}",
        f"{wanted}, or a template for one",
        fix,
    )


@rule("E107")
def several_operations(path: str, names: tuple[str, ...]) -> ProblemText:
    return ProblemText(
        f"the update of {path!r} has the operations {listed(names)}, and one update has one",
        fix="write the updates in two steps, or the mapping as one template if it is the value",
    )


@rule("E107")
def misspelt(name: str, operation: str, path: str) -> ProblemText:
    value = "{{ {'" + name + "': ...} }}"
    return ProblemText(
        f"{name!r} is not an operation, and the update of {path!r} would store it as a value",
        listed(_OPERATIONS),
        f"did you mean {operation!r}? A value like this is written as a template: `{value}`",
    )


@rule("E103")
def empty_segment(path: str) -> ProblemText:
    return ProblemText(
        f"{path!r} is not a context path: a part of it is empty",
        "keys with dots between them, like `progress.{{ task.id }}.status`",
    )


@rule("E405")
def operation_mismatch(
    operation: str, path: str, form: str, fitting: tuple[str, ...]
) -> ProblemText:
    written = f"{', '.join(f'`{one}`' for one in fitting)} or " if fitting else ""
    return ProblemText(
        f"`{operation}` cannot update {path!r}, which is {form}",
        fix=f"write {written}a value that replaces it, or correct the schema",
    )


@rule("E405")
def unknown_operation(name: str, path: str, form: str) -> ProblemText:
    return ProblemText(
        f"{name!r} is not an operation, and {path!r} is {form}, which a mapping cannot replace",
        listed(_OPERATIONS),
        nearest(name, _OPERATIONS) or "write an operation, or a value that replaces it",
        edit=replaced_by_nearest(name, _OPERATIONS),
    )
