"""List what Coterie and this machine offer to documents, without loading the implementation."""

import os
from collections.abc import Iterable, Mapping, Sequence
from time import time

from coterie.activities.processes.bubblewrap import Bubblewrap, find_bubblewrap
from coterie.activities.processes.search_path import path_outside
from coterie.activities.tool_functions.function_contracts import known_contracts
from coterie.documents.installed_extensions import installed_paths
from coterie.dsl.compile.compiler import SourceText
from coterie.dsl.egress.channel_labels import open_commands
from coterie.dsl.model.capabilities import Capabilities, FunctionContract, Reach, ServerListing
from coterie.dsl.model.sections.provider_document import ProviderSection
from coterie.dsl.model.sections.worker_document import CommandSection
from coterie.dsl.model.step_kinds.agent_types import ORCHESTRATING, SINGLE_SHOT, TOOL_CALLING
from coterie.dsl.model.vendors.vendors import BUILT_IN_KINDS, VENDORS
from coterie.settings import Settings

AGENT_TYPES = (SINGLE_SHOT, ORCHESTRATING, TOOL_CALLING)
"""The types that the agent factory knows; loading it takes half a second."""

BUILT_IN_PROVIDERS = {
    kind: ProviderSection.model_validate({"kind": kind, "api_key_env": vendor.key_env})
    for kind, vendor in VENDORS.items()
}
"""Providers that need only a key."""


def capabilities(
    providers: Iterable[str] = (),
    commands: Mapping[str, CommandSection] | None = None,
    channels: Iterable[str] | None = None,
    agent_packages: Iterable[str] | None = None,
    functions: Mapping[str, FunctionContract] | None = None,
    server_listings: Mapping[str, ServerListing] | None = None,
    provider_packages: Iterable[str] | None = None,
    offline_tools: Iterable[str] = (),
    trusted_paths: Iterable[str] = (),
    *,
    sandboxed: bool = True,
) -> Capabilities:
    """List agent types, tool functions and built-in providers, with a worker's additions.

    Args:
        providers: Names of the worker's own providers.
        commands: Its commands; None if unknown.
        channels: Names of its notification channels; None if unknown.
        agent_packages: Packages of agent classes that it allows, besides those in the document;
            None if unknown.
        functions: Every tool function by name. Default: Coterie's own.
        server_listings: The recorded tools of MCP servers.
        provider_packages: Packages of kinds of providers that it allows, likewise.
        offline_tools: Globs of the Python tools that send nothing out, likewise.
        trusted_paths: Globs of the files that the worker vouches for, likewise.
        sandboxed: Whether its commands run in a sandbox, where the configuration leaves it open.
    """
    return Capabilities(
        agent_types=AGENT_TYPES,
        functions=known_contracts() if functions is None else dict(functions),
        providers=tuple(dict.fromkeys((*BUILT_IN_PROVIDERS, *providers))),
        commands=None if commands is None else tuple(commands),
        channels=None if channels is None else tuple(channels),
        agent_packages=None if agent_packages is None else tuple(agent_packages),
        server_listings=dict(server_listings or {}),
        agent_paths=dict(installed_paths("coterie.agents")),
        provider_kinds=BUILT_IN_KINDS,
        provider_packages=None if provider_packages is None else tuple(provider_packages),
        provider_paths=dict(installed_paths("coterie.providers")),
        now=time(),
        sandboxed=sandboxed,
        reach=Reach(
            commands=open_commands(commands or {}, sandboxed=sandboxed),
            offline_tools=tuple(offline_tools),
            trusted_paths=tuple(trusted_paths),
        ),
        once_commands=tuple(name for name, command in (commands or {}).items() if command.once),
    )


def finds_sandbox(settings: Settings, sources: Sequence[SourceText]) -> bool:
    """Return whether `auto` finds a sandbox; it is tried only if a file may declare commands."""
    if not any("commands" in source.text for source in sources):
        return True
    return works_here(settings)


def works_here(settings: Settings) -> bool:
    """Return whether bubblewrap works on this machine."""
    path = settings.environment.get("PATH", os.defpath)
    return isinstance(find_bubblewrap(path_outside(path, settings.project.resolve())), Bubblewrap)
