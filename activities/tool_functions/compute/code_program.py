"""Run a program that calls tools, up to its next calls; blocking, in the sandbox of `Python.run`.

A call of a tool is a coroutine. The program stops where it awaits one, with all calls that it has
begun: so `asyncio.gather` makes several at once.
"""

import base64
import random
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from time import monotonic
from typing import Any, NamedTuple, cast

from pydantic import Field, JsonValue, TypeAdapter
from pydantic_monty import (
    FunctionSnapshot,
    FutureSnapshot,
    Monty,
    MontyComplete,
    MontySession,
    NameLookupSnapshot,
)

from coterie.activities.contracts import CodeCall, FailureType
from coterie.activities.process_pool.work import Work
from coterie.activities.processes.bounded_output import BoundedOutput
from coterie.activities.tool_functions.compute.code_state import (
    ProgramHeader,
    ProgramState,
    StateUnusable,
    packed,
    unpacked,
)
from coterie.activities.tool_functions.compute.python_code import (
    GRACE,
    INSPECT,
    MAX_RECURSION,
    MODULES,
    VALUE,
    CodeEnd,
    CodeFailed,
    NotJsonValue,
    PythonInput,
    PythonResult,
    as_code_failures,
    as_plain_json,
    binding,
)
from coterie.dsl.errors import listed
from coterie.dsl.sizes import json_size
from coterie.dsl.values import Frozen, Json

MAX_CALLS_AT_ONCE = 100
"""Calls that a program may begin before it awaits one."""

_MAX_ARGUMENTS = 500_000
"""Bytes of JSON of the arguments of these calls."""

_EXCEPTIONS: Mapping[str, type[Exception]] = {
    FailureType.TIMEOUT: TimeoutError,
    "Rejected": PermissionError,
    "NotDecided": PermissionError,
    "HookRejected": PermissionError,
    "InvalidArguments": TypeError,
    FailureType.FUNCTION_REFUSED: ValueError,
}
"""What a failure of a call is in the code; all others are a RuntimeError."""


class ResolvedAnswer(Frozen):
    """What a call came to, with its value."""

    id: int
    value: JsonValue = None
    error: str = ""
    message: str = ""


class ProgramPart(Frozen):
    """A part of a program: from its beginning, or from answers."""

    input: PythonInput | None = None
    functions: dict[str, tuple[str, ...]] = Field(default_factory=dict[str, tuple[str, ...]])
    now: float = 0.0
    seed: str = ""
    state: str = ""
    """In base 64; empty at the beginning."""
    answers: tuple[ResolvedAnswer, ...] = ()
    seconds: float = 30.0
    """How long the sandbox may take to answer."""


class PartEnd(Frozen):
    """How a part ended: with a result, a failure, or at calls."""

    end: CodeEnd = CodeEnd()
    state: str = ""
    calls: tuple[CodeCall, ...] = ()


def run_part(part: ProgramPart) -> PartEnd:
    """Run a program up to its next calls or its end."""
    begun = monotonic()
    try:
        with as_code_failures():
            return _run_part(part, begun)
    except (CodeFailed, StateUnusable) as failure:
        return PartEnd(end=CodeEnd(failure=str(failure)))


def _run_part(part: ProgramPart, begun: float) -> PartEnd:
    earlier = unpacked(base64.b64decode(part.state)) if part.state else None
    header = earlier.header if earlier else _first_header(part)
    printed = BoundedOutput.of(
        header.head.encode("latin-1"), header.tail.encode("latin-1"), header.printed
    )

    def take(stream: str, text: str) -> None:
        printed.take(text.encode(errors="replace"))

    with _session(part) as session:
        snapshot = _open(session, part, earlier, take)
        calls = _Calls(header.functions, header.calls)
        snapshot = calls.collect(snapshot)
        seconds = round(header.seconds + monotonic() - begun, 3)
        if isinstance(snapshot, MontyComplete):
            if calls.begun:
                take("stdout", _never_made(calls.begun))
            value = _value(session, snapshot, header, take)
            result = PythonResult(
                value=value, printed=printed.text(), cut=printed.cut, seconds=seconds
            )
            return PartEnd(end=CodeEnd(result=result))
        head, tail = (kept.decode("latin-1") for kept in printed.kept)
        update = {
            "calls": calls.number,
            "seconds": seconds,
            "head": head,
            "tail": tail,
            "printed": printed.total,
        }
        state = ProgramState(header.model_copy(update=update), snapshot.dump())
    awaited = set(snapshot.pending_call_ids)
    return PartEnd(
        state=base64.b64encode(packed(state)).decode(),
        calls=tuple(call for call in calls.begun if call.id in awaited),
    )


def _first_header(part: ProgramPart) -> ProgramHeader:
    assert part.input is not None, "a program begins with its code"
    return ProgramHeader(functions=part.functions, is_bound=binding(part.input.code) is not None)


@contextmanager
def _session(part: ProgramPart) -> Generator[MontySession]:
    """Open a session. One that continues keeps the limits, the clock and the seed of its first."""
    given = part.input
    seconds = part.seconds if given is None else given.max_seconds
    memory = 0 if given is None else given.max_memory_mb << 20
    seed = random.Random(part.seed).getrandbits(63)
    with (
        Monty(max_processes=1, request_timeout=seconds + GRACE) as pool,
        pool.checkout(
            limits={
                "max_feed_duration_secs": seconds,
                "max_memory": memory or None,
                "max_recursion_depth": MAX_RECURSION,
            },
            os_policy={
                "sleep": "zero",
                "random_start": {"seed": seed},
                "datetime": datetime.fromtimestamp(part.now, UTC),
            },
        ) as session,
    ):
        yield session


def _open(
    session: MontySession,
    part: ProgramPart,
    earlier: ProgramState | None,
    take: Callable[[str, str], None],
) -> "_Snapshot":
    names = earlier.header.functions if earlier else part.functions
    lookup: dict[str, Any] = {name: _stand_in(name) for name in names}
    if earlier is not None:
        snapshot = session.load_snapshot(
            earlier.snapshot, print_callback=take, external_lookup=lookup
        )
        if not isinstance(snapshot, FutureSnapshot):
            raise StateUnusable("the state of the code waits for no call")
        return snapshot.resume({answer.id: _settlement(answer) for answer in part.answers})
    given = part.input
    assert given is not None, "a program begins with its code"
    session.feed_run(f"import asyncio, {', '.join(MODULES)}", print_callback=take)
    code = binding(given.code) or given.code
    return session.feed_start(
        code, inputs=dict(given.inputs), print_callback=take, external_lookup=lookup
    )


_Snapshot = FunctionSnapshot | FutureSnapshot | NameLookupSnapshot | MontyComplete


def _stand_in(name: str) -> Callable[..., None]:
    """Return what a name of a tool is, until it is called."""

    def function() -> None: ...

    function.__name__ = function.__qualname__ = name
    return function


def _settlement(answer: ResolvedAnswer) -> Any:
    if not answer.error:
        return {"return_value": answer.value}
    kind = _EXCEPTIONS.get(answer.error, RuntimeError)
    return {"exception": kind(f"{answer.error}: {answer.message}")}


class _Refused(NamedTuple):
    """Why a call of the code does not reach a tool."""

    exception: Exception


class _Calls:
    """The calls that a program begins."""

    def __init__(self, functions: Mapping[str, tuple[str, ...]], number: int) -> None:
        self._functions = functions
        self._size = 0
        self.begun: list[CodeCall] = []
        self.number = number
        """Calls so far."""

    def collect(self, snapshot: "_Snapshot") -> FutureSnapshot | MontyComplete:
        """Take calls until the program awaits one, or ends."""
        while not isinstance(snapshot, FutureSnapshot | MontyComplete):
            if isinstance(snapshot, NameLookupSnapshot) or snapshot.is_os_function:
                snapshot = snapshot.resume_auto()
                continue
            taken = self._take(snapshot)
            answer: Any = (
                {"exception": taken.exception} if isinstance(taken, _Refused) else {"future": ...}
            )
            snapshot = snapshot.resume(answer)
        return snapshot

    def _take(self, snapshot: FunctionSnapshot) -> CodeCall | _Refused:
        name = snapshot.function_name
        parameters = self._functions.get(name)
        if parameters is None:
            return _Refused(NameError(f"name {name!r} is not defined"))
        if len(snapshot.args) > len(parameters):
            most = len(parameters)
            return _Refused(TypeError(f"{name}() takes at most {most} positional arguments"))
        given = dict(zip(parameters, snapshot.args, strict=False))
        if twice := given.keys() & snapshot.kwargs.keys():
            named = ", ".join(sorted(twice))
            return _Refused(TypeError(f"{name}() got several values for {named}"))
        try:
            arguments = as_plain_json({**given, **snapshot.kwargs}, f"{name}()")
        except (NotJsonValue, RecursionError) as error:
            return _Refused(TypeError(f"an argument is not JSON: {error}"))
        self._size += json_size(arguments)
        if len(self.begun) == MAX_CALLS_AT_ONCE or self._size > _MAX_ARGUMENTS:
            return _Refused(
                RuntimeError(
                    f"the code may begin {MAX_CALLS_AT_ONCE} calls, with {_MAX_ARGUMENTS:,} bytes "
                    "of arguments, before it awaits one"
                )
            )
        self.number += 1
        call = CodeCall(id=snapshot.call_id, function=name, arguments=cast("Json", arguments))
        self.begun.append(call)
        return call


def _never_made(begun: Sequence[CodeCall]) -> str:
    """Say which calls the program began and left open as it ended."""
    names = listed([f"{name}()" for name in dict.fromkeys(call.function for call in begun)])
    return f"[{len(begun)} calls were not made, because the code ended without `await`: {names}]\n"


def _value(
    session: MontySession,
    complete: MontyComplete,
    header: ProgramHeader,
    take: Callable[[str, str], None],
) -> JsonValue:
    """Return the value of a program that has ended."""
    if not header.is_bound:
        return None
    problem = session.feed_run(INSPECT, print_callback=take)
    if problem:
        hint = "await the call" if "coroutine" in str(problem) else "convert it, as in `list(x)`"
        raise CodeFailed(f"the value is not JSON: {problem}; {hint}")
    try:
        return as_plain_json(session.feed_run(VALUE, print_callback=take))
    except (NotJsonValue, RecursionError) as error:
        raise CodeFailed(f"the value is not JSON: {error}; convert it, as in `list(x)`") from None


RUN_PART = Work[ProgramPart, PartEnd](
    "coterie.activities.tool_functions.compute.code_program:RUN_PART",
    "coterie.activities.tool_functions.compute.code_program:run_part",
    TypeAdapter(ProgramPart),
    TypeAdapter(PartEnd),
    cpu=60,
)
