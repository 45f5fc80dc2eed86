"""Values of the command line: contexts, updates and files, read and checked."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from pydantic import JsonValue

from coterie.failures import CommandError
from coterie.settings import Settings
from dsl.errors import InvalidDocument, Problem
from dsl.evaluate.declared_values import value_problems
from dsl.finite import non_finite
from dsl.model.context.declarations import UNDECLARED, Declarations, DeclaredPath
from dsl.paths import parse, put
from dsl.source.yaml_reader import read
from dsl.values import Json

_MAX_TEXT_LENGTH = 20_000_000
"""Characters of a file that an argument names; a run takes far less."""


def read_context(
    settings: Settings,
    given: str | None,
    values: Sequence[str],
    declared: Declarations = UNDECLARED,
) -> Json:
    """Build the context from `--context` and then each `--set`.

    A value is JSON where that parses, else text; for a declared path, what the path can hold.

    Raises:
        CommandError: A value is malformed.
        InvalidDocument: The file is not valid YAML.
    """
    context = _base(settings, given)
    for text in values:
        key, equals, value = text.partition("=")
        if not equals or not key:
            raise CommandError(f"--set {text!r} must have the form key=value")
        try:
            context = put(context, parse(key), _value(value, declared.get(key)))
        except ValueError as error:
            raise CommandError(f"could not apply --set {text!r}: {error}") from None
    return _finite(context)


def _finite(values: Json) -> Json:
    found = non_finite(values)
    if found is not None:
        raise CommandError(
            f"the value of {found!r} is not a JSON number (NaN or infinite); use a "
            "finite number, or a string in quotes"
        )
    return values


def read_updates(values: Sequence[str]) -> Json:
    """Parse each `--set` into `{dotted path: value}`.

    Raises:
        CommandError: A value is malformed.
    """
    updates: Json = {}
    for text in values:
        key, equals, value = text.partition("=")
        if not equals or not key:
            raise CommandError(f"--set {text!r} must have the form key=value")
        updates[key] = _value(value)
    return _finite(updates)


def _no_number(word: str) -> JsonValue:
    """Reject NaN and Infinity, which only Python's JSON parser accepts."""
    raise ValueError(f"{word} is not a JSON number")


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
        value: JsonValue = json.loads(text, parse_constant=_no_number)
    except ValueError as error:
        raise CommandError(f"{name} is not JSON ({error})") from None
    return value


def _base(settings: Settings, given: str | None) -> Json:
    if given is None:
        return {}
    if given.startswith("@"):
        return _file_context(settings, given[1:])
    try:
        value: JsonValue = json.loads(given)
    except ValueError as error:
        raise CommandError(
            f"--context is not JSON ({error}); to read a file, write @FILE"
        ) from None
    if not isinstance(value, dict):
        raise CommandError('--context must be a JSON object, such as {"topic": "rain"}')
    return value


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
    try:
        with file.open(encoding="utf-8") as given:
            text = given.read(_MAX_TEXT_LENGTH + 1)
        if len(text) <= _MAX_TEXT_LENGTH:
            return text
        message = f"{name} has more than {_MAX_TEXT_LENGTH:,} characters"
        raise InvalidDocument([Problem("E001", name, 1, 1, "", message)])
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8 text"
        problem = Problem("E001", name, 1, 1, "", f"could not read {name}: {reason}")
        raise InvalidDocument([problem]) from None


def _value(text: str, one: DeclaredPath | None = None) -> JsonValue:
    try:
        value: JsonValue = json.loads(text)
    except ValueError:
        return text
    if one is not None and value_problems("", value, one) and not value_problems("", text, one):
        return text
    return value
