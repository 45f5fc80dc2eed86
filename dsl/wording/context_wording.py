"""Problems of a declared context: of its declarations, and of what they refuse."""

from collections.abc import Collection, Sequence

from pydantic import JsonValue

from coterie.dsl.errors import listed, nearest, replaced_by_nearest
from coterie.dsl.problem_details import ProblemText, rule
from coterie.dsl.wording.condition_wording import KINDS, bounded, one_of

_BOUNDS = (
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "minLength",
    "maxLength",
    "minItems",
    "maxItems",
)


def value_form(schema: dict[str, JsonValue], options: Sequence[str] = ()) -> str:
    """Describe what a schema allows: `a text (minLength 3)`, `one of "a", "b"`.

    Args:
        schema: of one path.
        options: its `enum`, each value rendered.
    """
    if options:
        return one_of(options)
    written = schema.get("type")
    names = written if isinstance(written, list) else [written]
    types = [name for name in names if isinstance(name, str) and name in KINDS]
    if not types:
        return "a value"
    return bounded(types, [(key, str(schema[key])) for key in _BOUNDS if key in schema])


def path_missing(path: str, form: str) -> str:
    """Say that a start lacks a required path."""
    return f"{path} is missing: {form}"


def path_undeclared(path: str, known: Collection[str]) -> str:
    """Say that a value is for a path that the document does not declare."""
    hint = nearest(path, known)
    return f"{path!r} is not declared; declared: {listed(known)}{f'; {hint}' if hint else ''}"


def dotted_key(path: str, key: str) -> str:
    """Say that a key of a start has dots, where mappings are nested."""
    return f"the key {path!r} has dots, which only a path has; nest the mappings: {key}: {{...}}"


def prefix_written(path: str, below: Collection[str]) -> str:
    """Say that a write is to what only holds declared paths."""
    return f"{path!r} is not declared itself; write one of {listed(below)}"


def not_a_mapping(path: str, kind: str, below: Collection[str]) -> str:
    """Say that a value stands where declared paths begin."""
    return f"{path!r} is {kind}, not a mapping with {listed(below)}"


def check_failed(path: str, reason: str) -> str:
    """Say that a value cannot be checked."""
    return f"{path} cannot be checked: {reason}"


def refused_values(what: str, reasons: Sequence[str]) -> str:
    """Say all that is wrong with the values of one writer."""
    return f"{what} does not fit the declared context: {'; '.join(reasons)}"


@rule("E215")
def undeclared_path(path: str, known: Collection[str], *, below: Collection[str]) -> ProblemText:
    if below:
        return ProblemText(
            f"the context path {path!r} is not declared itself",
            listed(below),
            "name one of these paths, or declare it under `orchestration.context`",
        )
    return ProblemText(
        f"the context path {path!r} is not declared",
        listed(known),
        nearest(path, known) or "declare it under `orchestration.context`",
    )


@rule("E105")
def declared_path_name(path: str) -> ProblemText:
    return ProblemText(
        f"no context path can be called {path!r}",
        "names with letters, digits, _ and -, joined by dots",
    )


@rule("E107")
def declared_below_value(path: str, above: str, form: str) -> ProblemText:
    return ProblemText(
        f"the path {path!r} lies below {above!r}, which is {form}",
        fix=f"declare {above!r} with `type: object`, or rename one of them",
    )


@rule("E101")
def unknown_keyword(path: str, keyword: str, known: Collection[str]) -> ProblemText:
    return ProblemText(
        f"{keyword!r} is not a keyword of a declared path ({path!r})",
        "default, keep_last, and the keywords of JSON Schema",
        nearest(keyword, known),
        edit=replaced_by_nearest(keyword, known),
    )


@rule("E505")
def unsound_path_schema(path: str, reason: str) -> ProblemText:
    return ProblemText(
        f"the schema of the context path {path!r} cannot be used: {reason}",
        fix="correct the schema",
    )


@rule("E405")
def default_refused(path: str, reason: str, *, is_filled: bool) -> ProblemText:
    what = "the default, filled with the defaults below it," if is_filled else "the default"
    return ProblemText(
        f"{what} of {path!r} does not match its own schema: {reason}",
        fix="correct the default or the schema",
    )


@rule("E405")
def default_longer(path: str, length: int, kept: int) -> ProblemText:
    return ProblemText(
        f"the default of {path!r} has {length} items, and `keep_last: {kept}` keeps fewer",
        fix="shorten the default, or raise `keep_last`",
    )


@rule("E106")
def keep_last_form(path: str, shown: str) -> ProblemText:
    return ProblemText(f"'keep_last' of {path!r} is {shown}", "a whole number of at least 1")


@rule("E107")
def keep_last_without_list(path: str, form: str) -> ProblemText:
    return ProblemText(
        f"`keep_last` bounds a list, and {path!r} is {form}",
        fix="write `type: array`, or remove `keep_last`",
    )


@rule("E107")
def keep_last_below_minimum(path: str, kept: int, minimum: int) -> ProblemText:
    return ProblemText(
        f"`keep_last: {kept}` of {path!r} leaves fewer items than `minItems: {minimum}`",
        fix="raise `keep_last`, or lower `minItems`",
    )


@rule("E405")
def update_refused(path: str, reason: str) -> ProblemText:
    return ProblemText(
        f"the declared context refuses this value of {path!r}: {reason}",
        fix="write a value that the schema allows, or correct the schema",
    )


@rule("E107")
def reset_without_default(path: str) -> ProblemText:
    return ProblemText(
        f"{path!r} has no default, so nothing can reset it",
        fix=f"add `default:` to {path!r}, or remove it from `resets`",
    )


@rule("E107")
def resets_undeclared() -> ProblemText:
    return ProblemText(
        "`resets` sets declared paths back to their defaults, and the document declares none",
        fix="declare them under `orchestration.context`, or remove `resets`",
    )
