"""Arguments that several commands have, and how their texts are read."""

import argparse
import getpass
import json
from argparse import ArgumentParser
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from pydantic import JsonValue

from coterie.failures import CommandError
from coterie.settings import Settings
from coterie.terminal import note
from coterie.text.problems import counted
from dsl.errors import InvalidDocument, Problem
from dsl.finite import non_finite
from dsl.paths import parse, put
from dsl.sizes import MAX_BY_LENGTH, MAX_NAME_LENGTH, MAX_WHY_LENGTH
from dsl.source.yaml_reader import read
from dsl.values import Json, seconds


def at_most(characters: int) -> Callable[[str], str]:
    """A text that is not longer than a run takes it."""

    def given(text: str) -> str:
        if len(text) > characters:
            raise argparse.ArgumentTypeError(
                f"it has {len(text):,} characters, and {characters:,} are allowed"
            )
        return text

    return given


who = at_most(MAX_BY_LENGTH)
reason = at_most(MAX_WHY_LENGTH)
name_given = at_most(MAX_NAME_LENGTH)


def add_target(parser: ArgumentParser) -> None:
    """The document."""
    parser.add_argument("target", metavar="TEAM_OR_FILE", help="a file, or the name of a team")


def add_run(parser: ArgumentParser) -> None:
    """The run."""
    parser.add_argument("run", metavar="RUN", help="the run's id")


def add_model(parser: ArgumentParser) -> None:
    """The model for everyone."""
    parser.add_argument(
        "--model",
        type=model_name,
        metavar="PROVIDER/MODEL",
        help="use this model for every persona",
    )


def add_context(parser: ArgumentParser) -> None:
    """What a run begins with."""
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
    """The other run, and what is different in it."""
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
    """Who decides what."""
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
    """Who sits here, as the system calls them."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return "unknown"


def add_who_and_why(parser: ArgumentParser) -> None:
    """Who says it, and because of what."""
    parser.add_argument("--by", type=who, help="your name in the trail; default: your login name")
    parser.add_argument("--why", type=reason, default="", help="the reason, kept in the trail")


def model_name(text: str) -> str:
    """`provider/model`, both parts given."""
    provider, _, model = text.partition("/")
    if not provider or not model:
        raise argparse.ArgumentTypeError(
            f"{text!r} does not read provider/model, like anthropic/claude-sonnet-5-5"
        )
    return text


def duration_given(text: str) -> float:
    """A duration like `20s`, in seconds."""
    try:
        given = seconds(float(text) if text.replace(".", "", 1).isdigit() else text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text!r}: {error}") from None
    if not isinstance(given, int | float):
        raise argparse.ArgumentTypeError(f"{text!r} is no duration like 20s")
    return float(given)


def print_warnings(target: str, warnings: Sequence[Problem]) -> None:
    """That there are some; a run does not wait for them."""
    if warnings:
        note(f"{target}: {counted(len(warnings), 'warning')}, see `coterie validate {target}`")


def read_context(settings: Settings, given: str | None, values: Sequence[str]) -> Json:
    """The context that `--context` and then each `--set` give.

    Raises:
        CommandError: a text is not what it should be.
        InvalidDocument: the file is not YAML of ours.
    """
    context = _base(settings, given)
    for text in values:
        key, equals, value = text.partition("=")
        if not equals or not key:
            raise CommandError(f"--set {text!r} does not read key=value")
        try:
            context = put(context, parse(key), _value(value))
        except ValueError as error:
            raise CommandError(f"--set {text!r} cannot be set: {error}") from None
    return _finite(context)


def _finite(values: Json) -> Json:
    found = non_finite(values)
    if found is not None:
        raise CommandError(
            f"the value of {found!r} is NaN or beyond all numbers, which JSON has not; give a "
            "number, or a text in quotes"
        )
    return values


def read_updates(values: Sequence[str]) -> Json:
    """`{dotted path: value}` of each `--set`.

    Raises:
        CommandError: a text is not what it should be.
    """
    updates: Json = {}
    for text in values:
        key, equals, value = text.partition("=")
        if not equals or not key:
            raise CommandError(f"--set {text!r} does not read key=value")
        updates[key] = _value(value)
    return _finite(updates)


def _no_number(word: str) -> JsonValue:
    """NaN and Infinity, which Python's reader takes and nobody else's."""
    raise ValueError(f"{word} is no number of JSON")


def read_value(settings: Settings, option: str, given: str) -> JsonValue:
    """A JSON value from the command line, or of a file as `@FILE`.

    Raises:
        CommandError: it is none.
    """
    text = given
    if given.startswith("@"):
        text = read_text(settings.cwd / given[1:], given[1:])
    try:
        value: JsonValue = json.loads(text, parse_constant=_no_number)
    except ValueError as error:
        raise CommandError(f"{option} is not JSON ({error})") from None
    return value


def _base(settings: Settings, given: str | None) -> Json:
    if given is None:
        return {}
    if given.startswith("@"):
        return _file_context(settings, given[1:])
    try:
        value: JsonValue = json.loads(given)
    except ValueError as error:
        raise CommandError(f"--context is not JSON ({error}); a file is named as @FILE") from None
    if not isinstance(value, dict):
        raise CommandError('--context is a JSON object, like {"topic": "rain"}')
    return value


def _file_context(settings: Settings, name: str) -> Json:
    try:
        value = read(read_text(settings.cwd / name, name), name).plain()
    except InvalidDocument as error:  # its places are lines; here the path is what is looked for
        raise InvalidDocument([_with_path(problem) for problem in error.problems]) from None
    assert isinstance(value, dict)  # a document's root is a mapping, or it is refused
    return value


def _with_path(problem: Problem) -> Problem:
    if not problem.path:
        return problem
    return replace(problem, message=f"the context's {problem.path!r}: {problem.message}")


def read_text(file: Path, name: str) -> str:
    """A file's text.

    Raises:
        InvalidDocument: it cannot be read.
    """
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8 text"
        problem = Problem("E001", name, 1, 1, "", f"{name} cannot be read: {reason}")
        raise InvalidDocument([problem]) from None


def _value(text: str) -> JsonValue:
    try:
        value: JsonValue = json.loads(text)
    except ValueError:
        return text
    return value
