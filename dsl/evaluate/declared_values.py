"""Values of a declared context: starts, writes, resets. Pure.

Every write of a path passes `write`: it drops the oldest items beyond `keep_last`, and checks the
result against the schemas of the paths that it touches.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Literal

from pydantic import JsonValue

from coterie.dsl.errors import InvalidContext, listed, nearest
from coterie.dsl.json_schema.keyword_check import UnusableSchema, excerpt
from coterie.dsl.json_schema.schema_checker import mismatches
from coterie.dsl.json_values import describe_kind
from coterie.dsl.model.context.declarations import (
    Declarations,
    DeclaredPath,
    declared_above,
    declared_at,
    declared_below,
)
from coterie.dsl.paths import MISSING, Missing, Path, get, parse, put
from coterie.dsl.values import Json

KINDS = {
    "string": "a text",
    "number": "a number",
    "integer": "a whole number",
    "boolean": "true or false",
    "array": "a list",
    "object": "a mapping",
    "null": "null",
}
"""`{type of JSON Schema: how a sentence calls it}`."""


def one_of(values: Sequence[str]) -> str:
    """Describe a closed set of values."""
    return ("one of " if len(values) > 1 else "") + ", ".join(values)


def bounded(types: Sequence[str], bounds: Sequence[tuple[str, str]]) -> str:
    """Describe types with their bounds."""
    kinds = " or ".join(KINDS[name] for name in types)
    limits = ", ".join(f"{key} {value}" for key, value in bounds)
    return f"{kinds} ({limits})" if limits else kinds


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
    type_value = schema.get("type")
    names = type_value if isinstance(type_value, list) else [type_value]
    types = [name for name in names if isinstance(name, str) and name in KINDS]
    if not types:
        return "a value"
    return bounded(types, [(key, str(schema[key])) for key in _BOUNDS if key in schema])


def form_of(one: DeclaredPath) -> str:
    """Describe what the path holds, in a few words."""
    listed = one.schema_.get("enum")
    return value_form(one.schema_, [*map(excerpt, listed)] if isinstance(listed, list) else ())


def check_failed(path: str, reason: str) -> str:
    """Say that a value cannot be checked."""
    return f"{path} cannot be checked: {reason}"


def value_problems(path: str, value: JsonValue, one: DeclaredPath) -> list[str]:
    """Return why the path cannot hold the value; empty when it can."""
    try:
        return mismatches(value, one.schema_, path)
    except UnusableSchema as error:
        return [check_failed(path, str(error))]


def kept(value: JsonValue, one: DeclaredPath) -> JsonValue:
    """Return the value; of a list with `keep_last`, its latest items."""
    if one.keep_last is not None and isinstance(value, list):
        return value[-one.keep_last :]
    return value


def write(context: Json, path: Path, value: JsonValue, declared: Declarations) -> Json:
    """Return the context with a value at a path.

    Raises:
        InvalidContext: the path is not declared, or a declared path cannot hold what it gets.
        ValueError: the path leads through a value that is not a mapping.
    """
    if not declared:
        return put(context, path, value)
    problems = list(path_problems(path, declared))
    if not problems:
        context = _fit_to_declaration(put(context, path, value), path, declared)
        problems = list(_problems(context, touched(path, declared), declared))
    if problems:
        raise InvalidContext("; ".join(problems))
    return context


def path_undeclared(path: str, known: Collection[str]) -> str:
    """Say that a value is for a path that the document does not declare."""
    hint = nearest(path, known)
    return f"{path!r} is not declared; declared: {listed(known)}{f'; {hint}' if hint else ''}"


def prefix_written(path: str, below: Collection[str]) -> str:
    """Say that a write is to what only holds declared paths."""
    return f"{path!r} is not declared itself; write one of {listed(below)}"


def path_problems(path: Path, declared: Declarations) -> Iterator[str]:
    """Yield why nothing can be written to the path: it is not declared."""
    if declared_above(path, declared) is None:
        below = declared_below(path, declared)
        text = ".".join(path)
        yield prefix_written(text, below) if below else path_undeclared(text, declared)


def touched(path: Path, declared: Declarations) -> list[str]:
    """Return the declared paths that a write changes: at its path, above and below it."""
    above = (declared_at(path[:length], declared) for length in range(1, len(path) + 1))
    return [*(text for text in above if text is not None), *declared_below(path, declared)]


def refused_values(what: str, reasons: Sequence[str]) -> str:
    """Say all that is wrong with the values of one writer."""
    return f"{what} does not fit the declared context: {'; '.join(reasons)}"


def started(given: Json, declared: Declarations) -> Json:
    """Return the context at the start of a run: what is given, and the defaults of the rest.

    Raises:
        InvalidContext: with all that is wrong.
    """
    if not declared:
        return given
    strangers = list(_strangers(given, (), declared))
    if strangers:
        raise InvalidContext(refused_values("the context of the start", strangers))
    context = _fit_to_declaration(given, (), declared)
    problems = list(_problems(context, declared, declared))
    if problems:
        raise InvalidContext(refused_values("the context of the start", problems))
    return context


def missing_inputs(given: Json, declared: Declarations) -> list[str]:
    """Return the required paths that a start does not give, in written order."""
    return [
        path
        for path, declaration in declared.items()
        if declaration.required and get(given, parse(path)) is MISSING
    ]


def merged(context: Json, given: Json, merging: Json, declared: Declarations) -> Json:
    """Return a context with given values merged in, checked against the declarations.

    Args:
        context: before.
        given: by one writer, as nested mappings.
        merging: the context with the given values merged in.
        declared: by the document.

    Raises:
        InvalidContext: with all that is wrong.
    """
    if not declared:
        return merging
    problems = list(_strangers(given, (), declared))
    if not problems:
        merging = _fit_to_declaration(merging, (), declared)
        changed = [path for path in declared if _differs(context, merging, path)]
        problems = list(_problems(merging, changed, declared))
    if problems:
        raise InvalidContext("; ".join(problems))
    return merging


def reset(context: Json, paths: Iterable[str], declared: Declarations) -> Json:
    """Return the context with declared paths back at their defaults.

    Raises:
        InvalidContext: a path leads through a value that is not a mapping.
    """
    try:
        for text in paths:
            path = parse(text)
            context = _fit_to_declaration(
                put(context, path, declared[text].default), path, declared
            )
    except ValueError as error:
        raise InvalidContext(f"resets: {error}") from None
    return context


def _differs(before: Json, after: Json, path: str) -> bool:
    return get(before, parse(path)) is not get(after, parse(path))


def _fit_to_declaration(context: Json, path: Path, declared: Declarations) -> Json:
    """Add the defaults that a write leaves missing, and drop what lists hold beyond their bound."""
    for text in sorted(touched(path, declared), key=lambda text: len(parse(text))):
        declaration, where = declared[text], parse(text)
        value = get(context, where)
        if value is MISSING and declaration.required:
            continue
        settled = kept(declaration.default if isinstance(value, Missing) else value, declaration)
        if settled is not value and _is_open(context, where):
            context = put(context, where, settled)
    return context


def _is_open(context: Json, path: Path) -> bool:
    """Whether only mappings lie above the path."""
    above = (get(context, path[:length]) for length in range(1, len(path)))
    return all(value is MISSING or isinstance(value, dict) for value in above)


def path_missing(path: str, form: str) -> str:
    """Say that a start lacks a required path."""
    return f"{path} is missing: {form}"


def _problems(context: Json, paths: Iterable[str], declared: Declarations) -> Iterator[str]:
    for text in paths:
        declaration = declared[text]
        value: JsonValue | Literal[Missing.MISSING] = get(context, parse(text))
        if not isinstance(value, Missing):
            yield from value_problems(text, value, declaration)
        elif declaration.required:
            yield path_missing(text, form_of(declaration))


def dotted_key(path: str, key: str) -> str:
    """Say that a key of a start has dots, where mappings are nested."""
    return f"the key {path!r} has dots, which only a path has; nest the mappings: {key}: {{...}}"


def not_a_mapping(path: str, kind: str, below: Collection[str]) -> str:
    """Say that a value stands where declared paths begin."""
    return f"{path!r} is {kind}, not a mapping with {listed(below)}"


def _strangers(values: Json, path: Path, declared: Declarations) -> Iterator[str]:
    """Yield the given values that are not declared."""
    for key, value in values.items():
        here = (*path, key)
        text = ".".join(here)
        if declared_at(here, declared) is not None:
            continue
        if text in declared:
            yield dotted_key(text, key.partition(".")[0])
            continue
        below = declared_below(here, declared)
        if not below:
            yield path_undeclared(text, declared)
        elif isinstance(value, dict):
            yield from _strangers(value, here, declared)
        else:
            yield not_a_mapping(text, describe_kind(value), below)
