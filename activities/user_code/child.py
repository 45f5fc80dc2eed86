"""The child process: runs a user's code for its worker, one call at a time.

    python -P -c "import json, sys; sys.path[:] = json.loads(sys.argv[1]); ..." '["/path", ...]'

Standard input is a socket: a call arrives as one line of JSON, and so does its reply
(`child_messages.py`). Output of the code goes to standard output and standard error, which the
worker reads separately. This module imports only the standard library and
`activities.user_code.plain_values`, so that a child starts quickly and the code finds its own
versions of libraries.
"""

import asyncio
import importlib
import inspect
import json
import os
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

from activities.user_code.plain_values import NotJson, as_json

_MAX_REASON_LENGTH = 500


def main() -> None:
    """Serve calls until the worker closes the socket."""
    own = os.getpid()
    channel = os.dup(0)  # the code's own children do not inherit it
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    with os.fdopen(channel, "r+b", buffering=0) as raw:
        while line := _line(raw.fileno()):
            outcome = run_agent(json.loads(line))
            if os.getpid() != own:
                os._exit(0)  # a fork made by the code, which ends here
            for stream in (sys.stdout, sys.stderr):
                _flush(stream)
            reply = {"outcome": outcome, "processes": _children()}
            _write(raw.fileno(), f"{json.dumps(reply)}\n".encode())


def _line(descriptor: int) -> bytes:
    """Read the next line; empty at the end."""
    parts: list[bytes] = []
    while chunk := os.read(descriptor, 65_536):
        parts.append(chunk)
        if chunk.endswith(b"\n"):  # calls never overlap
            return b"".join(parts)
    return b""


def _write(descriptor: int, data: bytes) -> None:
    left = memoryview(data)
    while left:
        left = left[os.write(descriptor, left) :]


def _flush(stream: Any) -> None:
    with suppress(AttributeError, OSError, ValueError):  # closed or replaced by the code
        stream.flush()


def _children() -> int:
    """Count processes that the code started and left behind, where /proc shows them."""
    try:
        tasks = [
            task.joinpath("children").read_text() for task in Path("/proc/self/task").iterdir()
        ]
    except OSError:
        return 0
    return len(" ".join(tasks).split())


def run_agent(call: dict[str, Any]) -> dict[str, object]:
    """Run one turn of an agent class; any exception becomes an outcome."""
    try:
        return _turn(call)
    except BaseException as error:
        return {"kind": "raised", "reason": _reason(error)}


def _turn(call: dict[str, Any]) -> dict[str, object]:
    module_name, _, class_name = str(call["path"]).rpartition(".")
    try:
        module = importlib.import_module(module_name)
    except BaseException as error:  # importing a module may do anything
        missing = error.name if isinstance(error, ImportError) else None
        return {"kind": "not_imported", "reason": _reason(error), "missing": missing or ""}
    found: Any = getattr(module, class_name, None)
    if not isinstance(found, type) or not callable(getattr(found, "process", None)):
        names = [name for name, value in vars(module).items() if isinstance(value, type)]
        return {"kind": "no_class", "names": names}
    arguments = _arguments(cast("Any", found), call)
    if "kind" in arguments:
        return arguments
    answer: Any = cast("Any", found)(**arguments["given"]).process(call["context"])
    if inspect.isawaitable(answer):
        answer = asyncio.run(_awaited(answer))
    return _outcome(answer)


async def _awaited(answer: Any) -> object:
    return await answer


def _arguments(agent_class: Any, call: dict[str, Any]) -> dict[str, Any]:
    """Return the constructor's arguments, or why they cannot be determined."""
    offered: dict[str, Any] = call["offered"]
    try:
        parameters = inspect.signature(agent_class).parameters.values()
    except ValueError:
        return {"kind": "no_signature"}
    taken = [parameter.name for parameter in parameters if parameter.name in offered]
    for parameter in parameters:
        variadic = parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
        required = parameter.default is parameter.empty and not variadic
        if required and parameter.name not in offered:
            return {"kind": "needs", "parameter": parameter.name}
    if not taken and any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters):
        # `**kwargs` passed on to a base class: use the oldest name
        taken = [call["config_names"][-1]]
    return {"given": {name: offered[name] for name in taken}}


def _outcome(answer: object) -> dict[str, object]:
    success = _field(answer, "success")
    if not isinstance(success, bool):
        return {"kind": "not_an_answer", "type": type(answer).__name__}
    try:
        data = as_json(_field(answer, "data"), "data")
    except NotJson as error:
        return {"kind": "not_json", "reason": str(error)}
    message: dict[str, object] = {"kind": "answered", "success": success, "data": data}
    return message if success else message | _error(_field(answer, "error"))


def _error(error: object) -> dict[str, object]:
    type_, message = getattr(error, "type", None), getattr(error, "message", None)
    if isinstance(type_, str) and isinstance(message, str):
        return {"error_type": type_, "error": message}
    return {"error": None if error is None else str(error)[:_MAX_REASON_LENGTH]}


def _field(answer: object, name: str) -> object:
    if isinstance(answer, Mapping):
        return cast("Mapping[str, object]", answer).get(name)
    return getattr(answer, name, None)


def _reason(error: BaseException) -> str:
    try:
        text = " ".join(str(error).split())[:_MAX_REASON_LENGTH]
    except Exception:  # an exception whose `__str__` fails
        text = ""
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
