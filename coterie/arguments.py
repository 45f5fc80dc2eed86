"""Define the arguments that several commands share, and parse their values."""

import argparse
import getpass
import json
from argparse import ArgumentParser
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

from pydantic import JsonValue

from coterie.failures import CommandError
from coterie.settings import Settings
from coterie.terminal import note
from coterie.text.problems import counted
from dsl.errors import InvalidDocument, Problem
from dsl.evaluate.declared_values import value_faults
from dsl.finite import non_finite
from dsl.model.context.declarations import UNDECLARED, Declarations, DeclaredPath
from dsl.paths import parse, put
from dsl.sizes import MAX_BY_LENGTH, MAX_NAME_LENGTH, MAX_WHY_LENGTH
from dsl.source.yaml_reader import read
from dsl.values import Json, seconds

_MAX_RUNS = 1_000


def at_most(characters: int) -> Callable[[str], str]:
    """Return a parser for a text of limited length."""

    def given(text: str) -> str:
        if len(text) > characters:
            raise argparse.ArgumentTypeError(
                f"it has {len(text):,} characters; at most {characters:,} are allowed"
            )
        return text

    return given


who = at_most(MAX_BY_LENGTH)
reason = at_most(MAX_WHY_LENGTH)
name_given = at_most(MAX_NAME_LENGTH)


def add_target(parser: ArgumentParser) -> None:
    """Add the document."""
    parser.add_argument("target", metavar="TEAM_OR_FILE", help="a file, or the name of a team")


def add_run(parser: ArgumentParser) -> None:
    """Add the run."""
    parser.add_argument("run", metavar="RUN", help="the run's id")


def add_model(parser: ArgumentParser) -> None:
    """Add the model for all personas."""
    parser.add_argument(
        "--model",
        type=model_name,
        metavar="PROVIDER/MODEL",
        help="use this model for every persona",
    )


def add_context(parser: ArgumentParser) -> None:
    """Add the initial context of a run."""
    parser.add_argument(
        "--context", metavar="JSON|@FILE", help="the context: a JSON object, or a YAML file"
    )
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        dest="settings",
        help="set one value of the context; the key may be dotted, the value is JSON or text",
    )
    parser.add_argument("--id", help="the run's id; default: a generated one")


def add_fork(parser: ArgumentParser) -> None:
    """Add the run to fork, and the changes for the new one."""
    parser.add_argument(
        "--set",
        dest="settings",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="change one value of the context; the key may be dotted, the value is JSON or text",
    )
    parser.add_argument("--id", help="the new run's id; default: a generated one")


def add_decision(parser: ArgumentParser) -> None:
    """Add the decision and the person who makes it."""
    add_run(parser)
    parser.add_argument(
        "request",
        nargs="?",
        type=name_given,
        metavar="REQUEST",
        help="the request; default: the only one that waits",
    )
    parser.add_argument("--by", type=who, help="who decides; default: your login name")
    parser.add_argument("--comment", type=reason, default="", help="why")
    parser.add_argument(
        "--digest",
        default=None,
        help="decide only if the request still has this digest (see `show`); default: the current",
    )


def login_name() -> str:
    """Return the user's login name."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return "unknown"


def add_who_and_why(parser: ArgumentParser) -> None:
    """Add the person who acts, and the reason."""
    parser.add_argument("--by", type=who, help="your name in the trail; default: your login name")
    parser.add_argument("--why", type=reason, default="", help="the reason, kept in the trail")


def model_name(text: str) -> str:
    """Parse `provider/model`; both parts are required."""
    provider, _, model = text.partition("/")
    if not provider or not model:
        raise argparse.ArgumentTypeError(
            f"{text!r} must have the form provider/model, such as anthropic/claude-sonnet-5-5"
        )
    return text


def duration_given(text: str) -> float:
    """Parse a duration such as `20s` into seconds."""
    try:
        given = seconds(float(text) if text.replace(".", "", 1).isdigit() else text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text!r}: {error}") from None
    if not isinstance(given, int | float):
        raise argparse.ArgumentTypeError(f"{text!r} is not a duration such as 20s")
    return float(given)


def age_given(text: str) -> timedelta:
    """Parse an age such as `3d`."""
    return timedelta(seconds=duration_given(text))


def runs_given(text: str) -> int:
    """Parse a number of runs."""
    if not text.isdecimal() or not 1 <= int(text) <= _MAX_RUNS:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 1 to {_MAX_RUNS}")
    return int(text)


def print_warnings(target: str, warnings: Sequence[Problem]) -> None:
    """Point to the warnings; a run does not wait for them."""
    if warnings:
        note(f"{target}: {counted(len(warnings), 'warning')}, see `coterie validate {target}`")


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
    """Read a text file.

    Raises:
        InvalidDocument: It cannot be read.
    """
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8 text"
        problem = Problem("E001", name, 1, 1, "", f"could not read {name}: {reason}")
        raise InvalidDocument([problem]) from None


def _value(text: str, one: DeclaredPath | None = None) -> JsonValue:
    try:
        value: JsonValue = json.loads(text)
    except ValueError:
        return text
    if one is not None and value_faults("", value, one) and not value_faults("", text, one):
        return text
    return value
