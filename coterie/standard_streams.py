"""Keep a command going when its terminal, its pipe or its disk no longer takes what it prints.

A run does not fail because nobody reads about it: the exit code says what became of the run,
however the output is lost. Only lost results, as on a full disk, have an exit code of their own.
"""

import errno
import io
import os
import sys
from collections.abc import Callable
from typing import Final, TextIO, cast

from typing_extensions import Buffer

_READER_LEFT: Final = frozenset({errno.EPIPE, errno.EIO})
"""The other end of a pipe was closed; the terminal was closed."""


class _Sink(io.FileIO):
    """Writes to a file descriptor until it fails, and from then on to nowhere."""

    def __init__(self, descriptor: int, ends_with_reader: Callable[[], bool]) -> None:
        self.lost: OSError | None = None
        self._ends_with_reader = ends_with_reader
        super().__init__(descriptor, "w", closefd=False)

    def write(self, data: Buffer, /) -> int | None:
        """Write the bytes.

        Raises:
            BrokenPipeError: Nobody reads any more, and the command only prints.
        """
        if self.lost is None:
            try:
                return super().write(data)
            except OSError as error:
                self.lost = error
        if self.lost.errno == errno.EPIPE and self._ends_with_reader():
            raise self.lost
        return memoryview(data).nbytes


class StandardStreams:
    """The standard streams of a command, in its process of its own."""

    def __init__(self) -> None:
        self.ends_with_reader = False
        """Whether the command only prints: it ends when nobody reads its results any more."""
        for descriptor in range(3):
            _open_if_closed(descriptor)
        if sys.stdin is not None:  # a reader of lines asks again for what is not text
            cast("io.TextIOWrapper", sys.stdin).reconfigure(errors="surrogateescape")
        self._output = _Sink(1, lambda: self.ends_with_reader)
        self._errors = _Sink(2, lambda: False)
        sys.stdout = _text(
            self._output, sys.stdout, line_buffering=sys.stdout is not None and sys.stdout.isatty()
        )
        sys.stderr = _text(self._errors, sys.stderr, line_buffering=True)

    def flush(self) -> OSError | None:
        """Write what is left; return what lost results, None if the reader or terminal left."""
        try:
            sys.stdout.flush()
            sys.stderr.flush()
        except BrokenPipeError:
            return None
        error = self._output.lost
        return None if error is None or error.errno in _READER_LEFT else error


def _open_if_closed(descriptor: int) -> None:
    """Keep files that the command opens from getting the number of a standard stream."""
    try:
        os.fstat(descriptor)
    except OSError:
        null_descriptor = os.open(os.devnull, os.O_RDWR)
        if null_descriptor != descriptor:
            os.dup2(null_descriptor, descriptor)
            os.close(null_descriptor)


def _text(sink: _Sink, earlier: TextIO | None, *, line_buffering: bool) -> io.TextIOWrapper:
    return io.TextIOWrapper(
        io.BufferedWriter(sink),
        encoding=earlier.encoding if earlier else "utf-8",
        errors=earlier.errors if earlier else "backslashreplace",
        newline="\n",
        line_buffering=line_buffering,
    )
