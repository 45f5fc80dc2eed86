"""Define the arguments that several commands share, and parse their values."""

import argparse
import getpass
from argparse import ArgumentParser
from collections.abc import Callable
from datetime import timedelta

from coterie.dsl.reserved_ids import service_prefix
from coterie.dsl.sizes import (
    MAX_BY_LENGTH,
    MAX_ID_SIZE,
    MAX_NAME_LENGTH,
    MAX_SAID_LENGTH,
    MAX_WHY_LENGTH,
)
from coterie.dsl.values import MAX_DURATION, seconds
from coterie.dsl.visible import visible
from coterie.failures import ExitCode

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
message_said = at_most(MAX_SAID_LENGTH)


def run_id(text: str) -> str:
    """Return the id of a new run; refuse what nobody could type or Temporal would not take."""
    problem = id_problem(text)
    if problem is not None:
        raise argparse.ArgumentTypeError(problem)
    return text


def id_problem(text: str) -> str | None:
    """Return why a new run cannot have this id; None if it can."""
    if not text:
        return "it is empty"
    if visible(text) != text or "\n" in text or "\t" in text:
        return "it has a line break, a tab or an invisible character; use letters, digits and '-'"
    if (size := len(text.encode(errors="surrogatepass"))) > MAX_ID_SIZE:
        return f"it has {size:,} bytes; Temporal takes at most {MAX_ID_SIZE:,}"
    prefix = service_prefix(text)
    if prefix is not None:
        return f"ids that begin with {prefix!r} are reserved; use another one"
    return None


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
        help="set one value of the context; the key may be dotted, the value is read as in YAML",
    )
    parser.add_argument("--id", type=run_id, help="the run's id; default: a generated one")


def add_fork(parser: ArgumentParser) -> None:
    """Add the run to fork, and the changes for the new one."""
    parser.add_argument(
        "--set",
        dest="settings",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="change one value of the context; the key may be dotted, the value is read as in YAML",
    )
    parser.add_argument("--id", type=run_id, help="the new run's id; default: a generated one")


def add_decision(parser: ArgumentParser) -> None:
    """Add the decision and the person who makes it."""
    parser.add_argument(
        "request",
        nargs="?",
        type=name_given,
        metavar="REQUEST",
        help="the request, or a pattern such as 'pay/*' for several; default: the only one that "
        "waits",
    )
    parser.add_argument("--all", action="store_true", help="every request that waits")
    parser.add_argument("--by", type=who, help="who decides; default: your login name")
    add_key(parser)
    parser.add_argument("--comment", type=reason, default="", help="why")
    parser.add_argument(
        "--digest",
        default=None,
        help="decide only if the request still has this digest (see `show`); default: the current",
    )


def add_key(parser: ArgumentParser) -> None:
    """Add the key that signs what the command sends."""
    parser.add_argument(
        "--key",
        metavar="FILE",
        help="sign with this key, for runs that take only signed decisions",
    )


def login_name() -> str:
    """Return the user's login name."""
    try:
        return getpass.getuser().encode(errors="replace").decode()
    except (KeyError, OSError):
        return "unknown"


def add_who_and_why(parser: ArgumentParser) -> None:
    """Add the person who acts, and the reason."""
    parser.add_argument("--by", type=who, help="your name in the trail; default: your login name")
    parser.add_argument("--why", type=reason, default="", help="the reason, kept in the trail")


def add_wait(parser: ArgumentParser, what: str) -> None:
    """Add how long to wait.

    Args:
        parser: Of the command.
        what: What it waits for, for its help.
    """
    wait = parser.add_mutually_exclusive_group()
    wait.add_argument(
        "--timeout",
        type=wait_given,
        metavar="DURATION",
        help=f"wait at most this long for {what}, such as 30s; then exit with code "
        f"{ExitCode.NOT_YET}; default: without a limit",
    )
    wait.add_argument(
        "--no-wait",
        dest="timeout",
        action="store_const",
        const=0.0,
        help=f"do not wait for {what}",
    )


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
        value = seconds(float(text) if text.replace(".", "", 1).isdigit() else text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text!r}: {error}") from None
    if not isinstance(value, int | float):
        raise argparse.ArgumentTypeError(f"{text!r} is not a duration such as 20s")
    return float(value)


def wait_given(text: str) -> float:
    """Parse how long to wait, into seconds."""
    wait = duration_given(text)
    if not wait:
        raise argparse.ArgumentTypeError("it is 0; use --no-wait")
    return wait


def age_given(text: str) -> timedelta:
    """Parse an age such as `3d`."""
    value = duration_given(text)
    if value > MAX_DURATION:
        raise argparse.ArgumentTypeError(f"{text!r} is longer than 100 years")
    return timedelta(seconds=value)


def runs_given(text: str) -> int:
    """Parse a number of runs."""
    if not text.isdecimal() or not 1 <= int(text) <= _MAX_RUNS:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 1 to {_MAX_RUNS}")
    return int(text)
