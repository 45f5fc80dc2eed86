"""Run Python code that a model wrote in a sandbox with limits; blocking.

The code computes on values: it has no files, no network and no imports.
"""

import ast
import math
import re
import warnings
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date, time, timedelta
from decimal import Decimal
from time import monotonic
from typing import cast

from pydantic import Field, JsonValue, TypeAdapter
from pydantic_core import to_jsonable_python
from pydantic_monty import (
    Monty,
    MontyConversionError,
    MontyCrashedError,
    MontyError,
    MontyRuntimeError,
    MontySyntaxError,
)

from coterie.activities.process_pool.work import Work
from coterie.activities.processes.bounded_output import BoundedOutput
from coterie.dsl.schema_keys import KIND
from coterie.dsl.values import Documented, Frozen

_RENDERED = re.compile(r"range\(|slice\(|dict_(keys|values|items)\(|<")
_MAX_DEPTH = 100
_KEYS = (str, int, float, type(None))

VALUE = "coterie_value"
INSPECT = f"""
def coterie_inspect(value, where):
    if isinstance(value, dict):
        for key in value:
            found = coterie_inspect(value[key], where + '.' + str(key))
            if found:
                return found
        return ''
    if isinstance(value, (list, tuple)):
        for number, item in enumerate(value):
            found = coterie_inspect(item, where + '[' + str(number) + ']')
            if found:
                return found
        return ''
    kind = type(value).__name__
    rendered = (
        'range', 'slice', 'dict_keys', 'dict_values', 'dict_items', 'function', 'module',
        'coroutine',
    )
    if kind in rendered or kind == 'Match' or kind.endswith('iterator'):
        return where + ' is a ' + kind
    return ''
coterie_inspect({VALUE}, 'the value')
"""
"""Code that returns which part of the value is of a type that JSON has not; empty for none."""


class NotJsonValue(Exception):
    """A part of the value is not JSON; the message says which."""


def as_plain_json(value: object, where: str = "the value", depth: int = 0) -> JsonValue:
    """Return the value as JSON: sets and tuples as lists, dates and decimals as texts.

    Raises:
        NotJsonValue: A part of it is not JSON.
    """
    if depth > _MAX_DEPTH:
        raise NotJsonValue(f"the value is nested deeper than {_MAX_DEPTH} levels")
    match value:
        case None | bool() | int() | str():
            return value
        case float() if math.isfinite(value):
            return value
        case Decimal() if value.is_finite():
            return str(value)
        case float() | Decimal():
            raise NotJsonValue(f"{where} is {value}")
        case date() | time() | timedelta():
            return cast("JsonValue", to_jsonable_python(value))
        case list() | tuple() | set() | frozenset():
            items = cast("list[object]", value)
            return [as_plain_json(item, f"{where}[{n}]", depth + 1) for n, item in enumerate(items)]
        case dict():
            return dict(_entries(cast("dict[object, object]", value), where, depth))
        case _:
            kind = getattr(value, "kind", type(value).__name__)
            raise NotJsonValue(f"{where} is a {kind}")


def _entries(
    value: dict[object, object], where: str, depth: int
) -> Iterator[tuple[str, JsonValue]]:
    for key, item in value.items():
        if not isinstance(key, _KEYS):
            raise NotJsonValue(f"{where} has the key {key!r}, which is a {type(key).__name__}")
        name = key if isinstance(key, str) else str(to_jsonable_python({key: 0}).popitem()[0])
        yield name, as_plain_json(item, f"{where}.{key}", depth + 1)


def may_be_rendered(value: JsonValue) -> bool:
    """Return whether a text in the value may be that of a range, a view, a function or the like."""
    match value:
        case str():
            return _RENDERED.match(value) is not None
        case list():
            return any(map(may_be_rendered, value))
        case dict():
            return any(map(may_be_rendered, value.values()))
        case _:
            return False


def binding(code: str) -> str | None:
    """Return the code with its last expression bound to `VALUE`; None if it cannot be read."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    last = tree.body[-1] if tree.body else None
    if not isinstance(last, ast.Expr):
        return None
    lines = code.encode().splitlines(keepends=True)
    before = b"".join([*lines[: last.lineno - 1], lines[last.lineno - 1][: last.col_offset]])
    expression = b"".join(lines).removeprefix(before).decode()
    return f"{before.decode()}\n{VALUE} = (\n{expression}\n)"


MODULES = (
    *("base64", "collections", "datetime", "decimal", "functools", "hashlib", "itertools"),
    *("json", "math", "random", "re"),
)
"""Modules that every run has; the code itself imports nothing."""

MAX_RECURSION = 200

GRACE = 5.0
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

    begun = monotonic()
    value = _run((code,), inputs, limits, take)
    try:
        plain = as_plain_json(value)
        if may_be_rendered(plain) and (bound := binding(code)) is not None:
            problem = _run((bound, INSPECT), inputs, limits, _drop)
            if problem:
                raise NotJsonValue(str(problem))
    except (NotJsonValue, RecursionError) as error:
        raise CodeFailed(f"the value is not JSON: {error}; convert it, as in `list(x)`") from None
    return CodeResult(plain, printed, round(monotonic() - begun, 3))


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
    with (
        as_code_failures(),
        Monty(max_processes=1, request_timeout=limits.seconds + GRACE) as pool,
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
    return value


@contextmanager
def as_code_failures() -> Generator[None]:
    """Raise what the sandbox raises as a CodeFailed."""
    try:
        yield
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


def _traceback(error: MontyRuntimeError) -> str:
    """Return the traceback of the code; it has no frames of the host."""
    text = error.display()
    return text if len(text) <= 4_000 else f"{text[:2_000]}\n...\n{text[-2_000:]}"


MAX_SECONDS = 30.0
MAX_MEMORY_MB = 512


class PythonInput(Documented):
    """The code and its inputs."""

    code: str = Field(min_length=1, max_length=50_000, json_schema_extra={KIND: "code"})
    """Python without imports. The value of the last expression is the result. The modules base64,
    collections, datetime, decimal, functools, hashlib, itertools, json, math, random and re are
    there already. Not supported: inheritance, `yield`, `del`, properties."""
    inputs: dict[str, JsonValue] = Field(default_factory=dict[str, JsonValue], max_length=50)
    """Variables of the code, by name."""
    max_seconds: float = Field(default=5.0, gt=0, le=MAX_SECONDS)
    """How long it may run."""
    max_memory_mb: int = Field(default=128, ge=1, le=MAX_MEMORY_MB)
    """How much memory it may use."""


class PythonResult(Documented):
    """What the code returned and printed."""

    value: JsonValue
    """The value of the last expression as JSON: sets and tuples are lists, dates and decimals are
    texts; null without a last expression. Other values, such as ranges and NaN, are failures."""
    printed: str
    """What it printed; long output lacks its middle."""
    cut: bool
    """Whether `printed` lacks its middle."""
    seconds: float
    """How long it ran."""


class CodeEnd(Frozen):
    """How code ended."""

    result: PythonResult | None = None
    failure: str = ""
    """Why there is no result, for its writer."""


def evaluate_code(value: PythonInput) -> CodeEnd:
    """Run code in a sandbox; blocking."""
    limits = CodeLimits(value.max_seconds, value.max_memory_mb << 20)
    try:
        result = run_code(value.code, value.inputs, limits)
    except CodeFailed as failure:
        return CodeEnd(failure=str(failure))
    return CodeEnd(
        result=PythonResult(
            value=result.value,
            printed=result.printed.text(),
            cut=result.printed.cut,
            seconds=result.seconds,
        )
    )


EVALUATE_CODE = Work[PythonInput, CodeEnd](
    "coterie.activities.tool_functions.compute.python_code:EVALUATE_CODE",
    "coterie.activities.tool_functions.compute.python_code:evaluate_code",
    TypeAdapter(PythonInput),
    TypeAdapter(CodeEnd),
    cpu=60,
)
