"""The tools of a project's own packages, and of installed ones: their contracts, and their code.

A package is imported only in a child process, never in a command or a worker. A command that
compiles a document asks once; a worker asks when it starts.
"""

import asyncio
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from importlib.metadata import entry_points
from pathlib import Path

from activities.skills.functions.function_skills import ToolsUnusable, contract_of, find_tools
from activities.skills.skill_contracts import known_contracts
from activities.user_code.child_messages import FoundTool
from activities.user_code.child_pool import UserCode
from activities.workspace.command_start import PASSED_ON
from coterie.failures import CommandError
from coterie.settings import Settings
from dsl.compile.merged_sources import SourceText, merged_sources
from dsl.errors import InvalidDocument
from dsl.model.capabilities import SkillContract
from dsl.source.nodes import Problems

ENTRY_POINTS = "coterie.tools"
"""The group of entry points by which an installed package names its modules with tools."""

_KEY = "tool_packages"


def tool_code(settings: Settings) -> UserCode:
    """Build the runner of tools; their processes get no secret by their environment."""
    environment = {
        key: value
        for key, value in settings.environment.items()
        if key in PASSED_ON or key.startswith("LC_")
    }
    return UserCode(settings.project, environment, (str(settings.project),))


def found_tools(settings: Settings, packages: Sequence[str]) -> tuple[FoundTool, ...]:
    """Return the tools of these packages, and of installed packages with entry points.

    Args:
        settings: The environment, and the folder where the project's own packages are.
        packages: `worker.tool_packages`.

    Raises:
        CommandError: A package cannot be imported, or a function cannot be a tool.
    """
    names = tuple(dict.fromkeys((*packages, *_installed())))
    return _found(settings, names) if names else ()


def known_skills(settings: Settings, packages: Sequence[str]) -> Mapping[str, SkillContract]:
    """Return `{name: contract}` of Coterie's skills and of the functions that are tools.

    Raises:
        CommandError: As `found_tools`.
    """
    found = found_tools(settings, packages)
    return known_contracts() | {one.name: contract_of(one) for one in found}


def packages_in(sources: Sequence[SourceText]) -> tuple[str, ...]:
    """Return `worker.tool_packages` of the files of a document; none where it is malformed."""
    if not any(_KEY in source.text for source in sources):
        return ()
    try:
        node = merged_sources(sources, Problems()).find(("worker", _KEY))
    except InvalidDocument:
        return ()
    written = node.plain()
    names = written if isinstance(written, list) else []
    return tuple(name for name in names if isinstance(name, str) and _is_package(name))


def _is_package(name: str) -> bool:
    return all(part.isidentifier() for part in name.split("."))


@cache
def _installed() -> tuple[str, ...]:
    return tuple(sorted({point.module for point in entry_points(group=ENTRY_POINTS)}))


def _found(settings: Settings, names: tuple[str, ...]) -> tuple[FoundTool, ...]:
    environment = tuple(sorted(tool_code(settings).environment.items()))
    return _asked(settings.project, environment, names)


@cache
def _asked(
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
