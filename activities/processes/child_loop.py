"""Serve the calls of a worker in a child process, one call at a time.

Standard input is a socket: a call arrives as one line of JSON, and so does its reply
(`child_reply.py`). Output of the code goes to standard output and standard error, which the
worker reads separately. This module imports only the standard library, so that a child starts
quickly and the code finds its own versions of libraries.
"""

import json
import os
import select
import sys
import sysconfig
import traceback
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Lock, Thread
from typing import Any

_MAX_REASON_LENGTH = 500
_MAX_SAID = 100_000
_PACKAGE = __name__.partition(".")[0]
_HERE = Path(__file__).parents[2]  # in a checkout, the rooms stand beside `coterie`
_ROOMS = tuple(
    f"{folder}{os.sep}"
    for folder in (_HERE / "activities", _HERE / "dsl", *sys.modules[_PACKAGE].__path__)
)
"""Our own code, which is on the way to every exception."""


NOTE = b"+"
"""The first byte of a line that is not yet the reply of the call."""


class Channel:
    """The socket to the worker, while a call runs."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._asking = Lock()

    def note(self, message: Mapping[str, object]) -> None:
        """Send a message that needs no answer."""
        with self._asking:
            self._write(message)

    def ask(self, message: Mapping[str, object]) -> Any:
        """Send a message, and return the worker's answer to it. One at a time."""
        with self._asking:
            self._write(message)
            return json.loads(_line(self._descriptor))

    def _write(self, message: Mapping[str, object]) -> None:
        _write(self._descriptor, NOTE + f"{json.dumps(message)}\n".encode())

    @contextmanager
    def cancellation(self, cancelled: Callable[[], None]) -> Generator[None]:
        """Call back, in another thread, if the worker cancels the call within the block."""
        reader, writer = os.pipe()

        def watch() -> None:
            ready, _, _ = select.select([self._descriptor, reader], [], [])
            if self._descriptor in ready and _line(self._descriptor):
                cancelled()

        thread = Thread(target=watch, daemon=True)
        thread.start()
        try:
            yield
        finally:
            os.close(writer)
            thread.join()
            os.close(reader)


def serve(
    answer: Callable[[Any, Channel], dict[str, object]], read: Callable[[bytes], Any] = json.loads
) -> None:
    """Answer calls until the worker closes the socket.

    Args:
        answer: Makes the call, and returns its outcome.
        read: Reads a call; default: any JSON.
    """
    own = os.getpid()
    channel = os.dup(0)  # the code's own children do not inherit it
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    with os.fdopen(channel, "r+b", buffering=0) as raw:
        while line := _line(raw.fileno()):
            outcome = answer(read(line), Channel(raw.fileno()))
            if os.getpid() != own:
                os._exit(0)  # a fork made by the code, which ends here
            for stream in (sys.stdout, sys.stderr):
                _flush(stream)
            reply = {"outcome": outcome, "processes": _children()}
            _write(raw.fileno(), f"{json.dumps(reply)}\n".encode())


@contextmanager
def kept_environment() -> Generator[None]:
    """Undo what a call changes in the environment: the next call may belong to another run.

    What the import of a module sets stays, so import it before.
    """
    before = dict(os.environ)
    try:
        yield
    finally:
        if os.environ != before:
            os.environ.clear()
            os.environ.update(before)


def reason_for(error: BaseException) -> str:
    """Return the type and the message of an exception and its line in the author's file."""
    try:
        text = cut_text(" ".join(str(error).split()), _MAX_REASON_LENGTH)
    except Exception:  # an exception whose `__str__` fails
        text = ""
    reason = f"{type(error).__name__}: {text}" if text else type(error).__name__
    return f"{reason}{_line_of(error)}"


def _line_of(error: BaseException) -> str:
    """Return the last line of the author's own code on the way to an exception, if any was.

    Only the name of the file: histories hold no path of the machine.
    """
    installed = ("stdlib", "platstdlib", "purelib", "platlib")
    libraries = (*_ROOMS, *(sysconfig.get_path(name) for name in installed))
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        if os.path.isfile(frame.filename) and not frame.filename.startswith(libraries):
            return f" ({os.path.basename(frame.filename)}:{frame.lineno})"
    return ""


def cut_text(text: str, length: int = _MAX_REASON_LENGTH) -> str:
    """Return the first characters of a text, with a mark that says how many others follow."""
    excess = len(text) - length
    return text if excess <= 0 else f"{text[:length]} [cut off: {excess:,} more characters]"


def said(result: object) -> str:
    """Return a result that is not what its function declares, for people."""
    try:
        return cut_text(repr(result), _MAX_SAID)
    except Exception:  # an object whose `__repr__` fails
        return f"a {type(result).__name__}"


def not_imported(error: BaseException) -> dict[str, object]:
    """Return the outcome of a failed import."""
    missing = error.name if isinstance(error, ImportError) else None
    return {"kind": "not_imported", "reason": reason_for(error), "missing": missing or ""}


def _line(descriptor: int) -> bytes:
    """Read the next line; empty at the end."""
    parts: list[bytes] = []
    while chunk := os.read(descriptor, 65_536):
        parts.append(chunk)
        if chunk.endswith(b"\n"):  # calls never overlap
            return b"".join(parts)
    return b""


def _write(descriptor: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(descriptor, rest) :]


def _flush(stream: Any) -> None:
    with suppress(AttributeError, OSError, ValueError):  # closed or replaced by the code
        stream.flush()


def _children() -> int:
    """Count processes that the code started and left behind, where /proc shows them.

    The supervisor is the parent of those that their own parent has left.
    """
    others = len(_children_of(str(os.getppid()))) - 1
    return len(_children_of("self")) + max(0, others)


def _children_of(process: str) -> list[str]:
    threads = Path(f"/proc/{process}/task")
    try:
        return " ".join(
            thread.joinpath("children").read_text() for thread in threads.iterdir()
        ).split()
    except OSError:
        return []
