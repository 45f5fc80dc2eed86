"""The packages whose functions may be tools, as the configuration allows; and their contracts.

A package is imported only in a child process, never in a command or a worker. A command that
compiles a document asks once; a worker asks when it starts.
"""

from collections.abc import Mapping, Sequence

from coterie.activities.tool_functions.function_contracts import known_contracts
from coterie.documents.installed_extensions import searched_packages
from coterie.dsl.compile.compiler import SourceText, merged_sources
from coterie.dsl.errors import InvalidDocument
from coterie.dsl.model.capabilities import FunctionContract
from coterie.dsl.source.collected_problems import Problems
from coterie.settings import Settings

_KEY = "tool_packages"


def known_functions(settings: Settings, packages: Sequence[str]) -> Mapping[str, FunctionContract]:
    """Return `{name: contract}` of Coterie's tool functions and of the functions that are tools.

    Raises:
        CommandError: A package cannot be imported, or a function cannot be a tool.
    """
    if not searched_packages(packages):
        return known_contracts()
    from coterie.documents.tool_discovery import tool_contracts

    return known_contracts() | tool_contracts(settings, packages)


def packages_in(sources: Sequence[SourceText]) -> tuple[str, ...]:
    """Return `worker.tool_packages` of the files of a document; none where it is malformed."""
    if not any(_KEY in source.text for source in sources):
        return ()
    try:
        node = merged_sources(sources, Problems()).find(("worker", _KEY))
    except InvalidDocument:
        return ()
    value = node.plain()
    names = value if isinstance(value, list) else []
    return tuple(name for name in names if isinstance(name, str) and _is_package(name))


def _is_package(name: str) -> bool:
    return all(part.isidentifier() for part in name.split("."))
