"""Run Python code in a process that has no files, no network and no modules of the host.

The interpreter is `pydantic-monty`: a separate implementation with hard limits, not CPython. Each
run gets a process of its own, which ends with it.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from pydantic import JsonValue
from pydantic_monty import (
    Monty,
    MontyConversionError,
    MontyCrashedError,
    MontyError,
    MontyRuntimeError,
    MontySyntaxError,
)

from coterie.activities.processes.bounded_output import BoundedOutput
from coterie.activities.skills.compute.python_values import (
    INSPECT,
    NotJsonValue,
    as_plain_json,
    binding,
    may_be_rendered,
)

MODULES = (
    *("base64", "collections", "datetime", "decimal", "functools", "hashlib", "itertools"),
    *("json", "math", "random", "re"),
)
"""Modules that every run has; the code itself imports nothing."""

MAX_RECURSION = 200

_GRACE = 5.0
"""Seconds for the process to start and to answer, besides those of the code."""


class CodeFailed(Exception):
    """The code did not run to its end; the message is for its writer."""


@dataclass(frozen=True, slots=True)
class CodeLimits:
    """What a run may use."""

    seconds: float
    memory: int
    """Bytes."""


@dataclass(frozen=True, slots=True)
class CodeResult:
    """What a run returned and printed."""

    value: JsonValue
    printed: BoundedOutput
    seconds: float


def run_code(code: str, inputs: Mapping[str, JsonValue], limits: CodeLimits) -> CodeResult:
    """Run code; its last expression is its value. Blocking, but never longer than its limits.

    Raises:
        CodeFailed: It has an error, exceeds a limit, or its value is not JSON.
    """
    printed = BoundedOutput()

    def take(stream: str, text: str) -> None:
        printed.take(text.encode(errors="replace"))

    begun = time.monotonic()
    value = _run((code,), inputs, limits, take)
    try:
        plain = as_plain_json(value)
        if may_be_rendered(plain) and (bound := binding(code)) is not None:
            found = _run((bound, INSPECT), inputs, limits, _drop)
            if found:
                raise NotJsonValue(str(found))
    except (NotJsonValue, RecursionError) as error:
        raise CodeFailed(f"the value is not JSON: {error}; convert it, as in `list(x)`") from None
    return CodeResult(plain, printed, round(time.monotonic() - begun, 3))


def _drop(stream: str, text: str) -> None:
    """Drop what the second run prints: the first has printed it."""


def _run(
    parts: Sequence[str],
    inputs: Mapping[str, JsonValue],
    limits: CodeLimits,
    take: Callable[[str, str], None],
) -> object:
    """Run the parts of a program in a process of their own; return the value of the last one."""
    value: object = None
    try:
        with (
            Monty(max_processes=1, request_timeout=limits.seconds + _GRACE) as pool,
            pool.checkout(
                limits={
                    "max_feed_duration_secs": limits.seconds,
                    "max_memory": limits.memory,
                    "max_recursion_depth": MAX_RECURSION,
                },
                os_policy={"sleep": "zero"},
            ) as session,
        ):
            session.feed_run(f"import {', '.join(MODULES)}", print_callback=take)
            for part in parts:
                value = session.feed_run(part, inputs=dict(inputs), print_callback=take)
    except MontySyntaxError as error:
        raise CodeFailed(f"the code has a syntax error: {error.display('type-msg')}") from None
    except MontyRuntimeError as error:
        raise CodeFailed(f"the code failed:\n{_traceback(error)}") from None
    except MontyConversionError as error:
        raise CodeFailed(f"an input or the value cannot be exchanged: {error}") from None
    except MontyCrashedError:
        raise CodeFailed("the sandbox ended: the code exceeded its limits") from None
    except MontyError as error:
        raise CodeFailed(f"the sandbox failed: {type(error).__name__}") from None
    return value


def _traceback(error: MontyRuntimeError) -> str:
    """Return the traceback of the code; it has no frames of the host."""
    shown = error.display()
    return shown if len(shown) <= 4_000 else f"{shown[:2_000]}\n...\n{shown[-2_000:]}"
