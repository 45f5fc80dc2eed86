"""Name the command that installs the packages of a tool function, where they are missing."""

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from typing import Final

from coterie.activities.extra_packages import install_command
from coterie.activities.workspace.function_failures import FunctionFailure

FUNCTION_EXTRAS: Final[Mapping[str, str]] = {
    "Arxiv.search": "web",
    "Memory.search": "retrieval",
    "Memory.store": "retrieval",
    "Retriever.search": "retrieval",
    "Web.fetch": "web",
    "Web.search": "web",
}
"""`{skill: the extra of Coterie that has its packages}`; the others need none."""


@contextmanager
def needing_packages(function: str) -> Generator[None]:
    """Import the packages of a tool function in the block, as its row of `FUNCTION_EXTRAS` says.

    Raises:
        FunctionFailure: One is not installed; the message has the command.
    """
    with needing(FUNCTION_EXTRAS[function], function):
        yield


@contextmanager
def needing(extra: str, function: str) -> Generator[None]:
    """Import the packages of a tool function in the block.

    Args:
        extra: The extra of Coterie that has them.
        function: The name of the tool function.

    Raises:
        FunctionFailure: One is not installed; the message has the command.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        raise FunctionFailure(
            f"{function} needs the package {error.name!r}, which is not installed; install it with "
            f"`{install_command(extra)}`"
        ) from None
