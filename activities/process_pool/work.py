"""Work that takes long, or whose input is not trusted: a function that another process can run."""

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Generic, Literal, Protocol, TypeVar

from pydantic import TypeAdapter

Given = TypeVar("Given")
Result = TypeVar("Result")

Limit = Literal["cpu", "memory"]


@dataclass(frozen=True)
class Work(Generic[Given, Result]):
    """A function with its types and limits."""

    name: str
    """Where this object is: `module:NAME`. Importing the module must not import the libraries that
    the function needs."""
    function: str
    """Where the function is: `module:name`."""
    given: TypeAdapter[Given]
    result: TypeAdapter[Result]
    cpu: int = 10
    """Seconds of CPU that one call may use, unless it names others."""
    memory: int = 1 << 30
    """Bytes of private memory of its process."""
    is_start: bool = False
    """Whether it is done once for each run that starts, so that no share of a run bounds it."""

    def call(self, given: Given) -> Result:
        """Call the function in this process."""
        function: Callable[[Given], Result] = find_object(self.function)
        return function(given)


class WorkEnded(Exception):
    """The process of a call ended before the call; the message says why."""

    def __init__(self, why: str, limit: Limit | None = None) -> None:
        super().__init__(why)
        self.limit = limit
        """The limit that the call exceeded; None: its process failed, so a retry may succeed."""


class WorkRunner(Protocol):
    """Runs work."""

    async def run(self, work: Work[Given, Result], given: Given, cpu: int | None = None) -> Result:
        """Run one call; cancellation ends it.

        Args:
            work: The function.
            given: Its input.
            cpu: Seconds of CPU that this call may use.

        Raises:
            WorkEnded: It exceeded a limit, or its process failed.
            ModuleNotFoundError: It needs a module that is not installed.
        """
        ...


def find_object(path: str) -> Any:
    """Import what is at `module:name`."""
    module, _, name = path.partition(":")
    return getattr(import_module(module), name)
