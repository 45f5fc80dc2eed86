"""The end of what a server writes to its standard error, for messages about its death."""

import asyncio
import os
from collections.abc import Generator
from contextlib import contextmanager, suppress
from typing import TextIO

from coterie.dsl.visible import one_line, shortened_text

_MAX_KEPT = 4_000
_MAX_LINE_LENGTH = 300


class ErrorOutput:
    """Reads the standard error of a server, and keeps its end."""

    def __init__(self) -> None:
        self._tail = b""

    @property
    def last_line(self) -> str:
        """The last line, visible; empty if there is none."""
        lines = self._tail.decode(errors="replace").strip().splitlines()
        return shortened_text(one_line(lines[-1]), _MAX_LINE_LENGTH) if lines else ""

    @contextmanager
    def taken(self) -> Generator[TextIO]:
        """Yield the file for a child process to write to."""
        source, target = os.pipe()
        loop = asyncio.get_running_loop()
        os.set_blocking(source, False)
        loop.add_reader(source, self._read, source)
        try:
            with os.fdopen(target, "w") as file:
                yield file
        finally:
            self._read(source)
            loop.remove_reader(source)
            os.close(source)

    def _read(self, source: int) -> None:
        with suppress(BlockingIOError):
            chunk = os.read(source, 65_536)
            self._tail = (self._tail + chunk)[-_MAX_KEPT:]
            if not chunk:
                asyncio.get_running_loop().remove_reader(source)
