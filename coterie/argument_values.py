"""Values that people write as text: contexts, updates and files, read and checked.

A declaration types a value; without one, it is read as YAML 1.2. `--set` of all commands and
answers at the terminal use `read_written`.
"""

import json
from collections.abc import Sequence
from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import NamedTuple

from pydantic import JsonValue

from coterie.dsl.errors import InvalidDocument, Problem, unreadable_file
from coterie.dsl.evaluate.declared_values import value_problems
from coterie.dsl.model.context.declarations import (
    UNDECLARED,
    Declarations,
    DeclaredPath,
    declared_above,
)
from coterie.dsl.paths import Path as ContextPath
from coterie.dsl.paths import has_empty_part, parse, put
from coterie.dsl.source.yaml_reader import UnreadableScalar, plain_scalar, read
from coterie.dsl.strict_json import JsonRefused, read_json
from coterie.dsl.values import Json
from coterie.dsl.visible import is_unicode
from coterie.failures import CommandError
from coterie.settings import Settings
from coterie.terminal import note
from coterie.text.document_text import unreadable_text

_DEFECTS = {
    "too_large": "it is too large for a number",
    "not_json": "JSON has no such number",
    "not_a_number": "it is not a number",
    "not_a_boolean": "it is neither true nor false",
}
_CLOSED = {"{": "}", "[": "]", '"': '"'}


class _Reading(NamedTuple):
    """What a text can mean."""

    value: JsonValue
    """Its meaning without a declaration."""
    other: JsonValue
    """Its meaning where a declaration refuses the first."""
    note: str = ""
    """Why it is a text although it looks like another value."""


def read_written(name: str, text: str, one: DeclaredPath | None = None) -> JsonValue:
    """Return the value that a person means by a text.

    A declared type decides. Otherwise `{...}`, `[...]` and `"..."` are JSON, and all else is what
    YAML 1.2 reads without quotes, unless that changes the text: `1.10`, `007`, `1e5` and `True`
    stay texts, and a note says so.

    Args:
        name: Of the value, for messages.
        text: As written.
        one: The declaration of its path.

    Raises:
        CommandError: It is not UTF-8, or JSON that parsers read differently.
    """
    if not is_unicode(text):
        raise CommandError(f"the value of {name!r} is not UTF-8 text")
    types = _types(one)
    try:
        reading = _reading(text)
    except JsonRefused as error:
        if types == {"string"}:
            return text
        raise CommandError(f"the value of {name!r}: {error}") from None
    value = reading.value if one is None else _choose_meaning(reading, one, types)
    if reading.note and not types and value == text:
        note(f"{name} stays the text {text!r}: {reading.note}")
    return value


def _types(declaration: DeclaredPath | None) -> set[str]:
    """Return the types that a declaration names; empty if it names none."""
    if declaration is None:
        return set()
    match declaration.schema_.get("type"):
        case list() as several:
            return {name for name in several if isinstance(name, str)}
        case str() as name:
            return {name}
        case _:
            return set()


def _choose_meaning(reading: _Reading, declaration: DeclaredPath, types: set[str]) -> JsonValue:
    """Return the likeliest meaning that the path can hold; if it holds none, the likeliest."""
    order = [reading.value, reading.other]
    if types == {"string"}:
        order.sort(key=lambda value: not isinstance(value, str))
    elif types and "string" not in types:
        order.sort(key=lambda value: isinstance(value, str))
    return next((value for value in order if not value_problems("", value, declaration)), order[0])


def _reading(text: str) -> _Reading:
    """Read a text without a declaration.

    Raises:
        JsonRefused: It is JSON that parsers read differently.
    """
    bare = text.strip()
    if bare[:1] in _CLOSED:
        try:
            return _Reading(read_json(bare), text)
        except JsonRefused:
            raise
        except ValueError as error:
            is_closed = len(bare) > 1 and bare.endswith(_CLOSED[bare[0]])
            return _Reading(text, text, f"it is not JSON ({error})" if is_closed else "")
    if not text:
        return _Reading(text, None)
    try:
        value = plain_scalar(text)
    except UnreadableScalar as error:
        return _Reading(text, text, _DEFECTS[error.defect])
    yaml_text = value if isinstance(value, str) else json.dumps(value)
    if yaml_text == text:
        return _Reading(value, text)
    return _Reading(text, value, f"YAML would read {yaml_text}; for that value, write {yaml_text}")


_MAX_TEXT_SIZE = 20_000_000
"""Bytes of a file that an argument names; a run takes far less."""


def read_context(
    settings: Settings,
    given: str | None,
    values: Sequence[str],
    declared: Declarations = UNDECLARED,
) -> Json:
    """Build the context from `--context` and then each `--set`.

    Raises:
        CommandError: A value is malformed.
        InvalidDocument: The file is not valid YAML.
    """
    context = _base(settings, given)
    for setting in split_settings(values):
        try:
            path = parse(setting.key)
            value = read_written(setting.key, setting.text, _declaration(path, declared))
            context = put(context, path, value)
        except ValueError as error:
            raise CommandError(
                f"could not apply --set {setting.key}={setting.text}: {error}"
            ) from None
    return context


class WrittenSetting(NamedTuple):
    """One `--set KEY=VALUE`."""

    key: str
    text: str


def split_settings(values: Sequence[str]) -> list[WrittenSetting]:
    """Split each `--set KEY=VALUE`.

    Raises:
        CommandError: It has another form.
    """
    assignments: list[WrittenSetting] = []
    for text in values:
        key, equals, value = text.partition("=")
        if not equals or not key:
            raise CommandError(f"--set {text!r} must have the form key=value")
        if has_empty_part(key):
            raise CommandError(
                f"--set {text!r}: the path {key!r} has an empty part; write one "
                "dot between two keys"
            )
        assignments.append(WrittenSetting(key, value))
    return assignments


def read_updates(values: Sequence[WrittenSetting], declared: Declarations = UNDECLARED) -> Json:
    """Read each `--set` into `{dotted path: value}`.

    Raises:
        CommandError: A value is malformed.
    """
    return {
        setting.key: read_written(
            setting.key, setting.text, _declaration(parse(setting.key), declared)
        )
        for setting in values
    }


def _declaration(path: ContextPath, declarations: Declarations) -> DeclaredPath | None:
    """Return what a path must hold: its declaration, or that of a property of one above it."""
    above = declared_above(path, declarations)
    if above is None:
        return None
    schema: JsonValue = declarations[above].schema_
    for segment in path[len(parse(above)) :]:
        properties = schema.get("properties") if isinstance(schema, dict) else None
        schema = properties.get(segment) if isinstance(properties, dict) else None
    return DeclaredPath(schema=schema) if isinstance(schema, dict) else None


def read_value(settings: Settings, option: str, given: str) -> JsonValue:
    """Parse a JSON value from the command line, or from a file given as `@FILE`.

    Raises:
        CommandError: It is not JSON.
    """
    text = given
    if given.startswith("@"):
        text = read_text(settings.cwd / given[1:], given[1:])
    return json_value(option, text)


def json_value(name: str, text: str) -> JsonValue:
    """Parse a JSON value that a person wrote.

    Args:
        name: What it is, for the message.
        text: Its text.

    Raises:
        CommandError: It is not JSON.
    """
    try:
        return read_json(text)
    except JsonRefused as error:
        raise CommandError(f"{name}: {error}") from None
    except ValueError as error:
        raise CommandError(f"{name} is not JSON ({error})") from None


def json_object(name: str, text: str, example: str) -> Json:
    """Parse a JSON object that a person wrote; raises like `json_value`."""
    value = json_value(name, text)
    if not isinstance(value, dict):
        raise CommandError(f"{name} must be a JSON object, such as {example}")
    return value


def _base(settings: Settings, source: str | None) -> Json:
    if source is None:
        return {}
    if source.startswith("@"):
        return _file_context(settings, source[1:])
    try:
        return json_object("--context", source, '{"topic": "rain"}')
    except CommandError as error:
        hint = "" if source.lstrip().startswith("{") else "; to read a file, write @FILE"
        raise CommandError(f"{error}{hint}") from None


def _file_context(settings: Settings, name: str) -> Json:
    try:
        value = read(read_text(settings.cwd / name, name), name).plain()
    except InvalidDocument as error:  # its problems show lines; here the reader needs the path
        raise InvalidDocument([_with_path(problem) for problem in error.problems]) from None
    assert isinstance(value, dict)  # a document's root is a mapping, else it was refused
    return value


def _with_path(problem: Problem) -> Problem:
    if not problem.path:
        return problem
    return replace(problem, message=f"the context's {problem.path!r}: {problem.message}")


def read_text(file: Path, name: str) -> str:
    """Read a text file, or a pipe to its end.

    Raises:
        InvalidDocument: It cannot be read, or is too large, like a device without an end.
    """
    if not is_unicode(name):
        message = f"{name!a} is a name that is not UTF-8"
        raise unreadable_file(ascii(name), message, fix="rename the file")
    try:
        with file.open("rb") as stream:
            data = stream.read(_MAX_TEXT_SIZE + 1)
        if len(data) <= _MAX_TEXT_SIZE:
            return StringIO(data.decode(), newline=None).read()
        raise unreadable_file(name, f"{name} has more than {_MAX_TEXT_SIZE:,} bytes")
    except (OSError, UnicodeDecodeError) as error:
        problem = unreadable_text(error)
        message = f"could not read {name}: {problem.reason}"
        at = (problem.line, problem.column)
        raise unreadable_file(name, message, fix=problem.fix, at=at) from None
