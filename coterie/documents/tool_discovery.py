"""Ask packages for their tools, in a child process that imports them."""

import asyncio
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path

from coterie.activities.tool_functions.functions.python_functions import (
    ToolsUnusable,
    find_tools,
)
from coterie.activities.user_code.child_messages import FoundTool
from coterie.activities.user_code.child_pool import UserCode
from coterie.activities.workspace.command_start import PASSED_ON
from coterie.documents.installed_extensions import searched_packages
from coterie.dsl.model.capabilities import FunctionContract
from coterie.failures import CommandError
from coterie.settings import Settings


def tool_code(settings: Settings, folder: Path | None = None) -> UserCode:
    """Build the runner of tools; their processes get no secret by their environment.

    Args:
        settings: The environment, and the folder where the project's own packages are.
        folder: Where they work. Default: the project's folder.
    """
    environment = {
        key: value
        for key, value in settings.environment.items()
        if key in PASSED_ON or key.startswith("LC_")
    }
    return UserCode(folder or settings.project, environment, (str(settings.project),))


def found_tools(settings: Settings, packages: Sequence[str]) -> tuple[FoundTool, ...]:
    """Return the tools of these packages.

    Args:
        settings: The environment, and the folder where the project's own packages are.
        packages: `worker.tool_packages`.

    Raises:
        CommandError: A package cannot be imported, or a function cannot be a tool.
    """
    names = searched_packages(packages)
    if not names:
        return ()
    environment = tuple(sorted(tool_code(settings).environment.items()))
    return _tools_in_packages(settings.project, environment, names)


def tool_contracts(settings: Settings, packages: Sequence[str]) -> dict[str, FunctionContract]:
    """Return `{name: contract}` of these tools.

    Raises:
        CommandError: As `found_tools`.
    """
    return {tool.name: tool for tool in found_tools(settings, packages)}


def forget_tools() -> None:
    """Ask the packages again next time: their modules may have changed meanwhile."""
    _tools_in_packages.cache_clear()


@cache
def _tools_in_packages(
    project: Path, environment: tuple[tuple[str, str], ...], names: tuple[str, ...]
) -> tuple[FoundTool, ...]:
    async def ask() -> tuple[FoundTool, ...]:
        user_code = UserCode(project, dict(environment), (str(project),))
        try:
            return await find_tools(user_code, names)
        finally:
            await user_code.close()

    with ThreadPoolExecutor(1) as thread:  # the caller may have an event loop of its own
        try:
            return thread.submit(asyncio.run, ask()).result()
        except ToolsUnusable as error:
            raise CommandError(f"{error}; see `worker.tool_packages`") from None
