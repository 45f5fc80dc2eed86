"""Build what a worker's agents, functions and notifications need from its trusted configuration.

This module resolves the names of secrets to their values, which no file, history or log contains.
"""

import os
import shutil
import sys
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from importlib.machinery import all_suffixes
from math import ceil
from pathlib import Path

import coterie.activities as activities
import coterie.config as config
import coterie.dsl as dsl
import coterie.workflows as workflows
from coterie import version
from coterie.activities.agents.agent_base import BaseAgent
from coterie.activities.agents.extension_agent import extension_agent
from coterie.activities.factory import BUILT_IN
from coterie.activities.mcp_client.server_pool import McpServers
from coterie.activities.mcp_client.server_settings import McpServer
from coterie.activities.notifications import (
    Channel,
    NotificationCommand,
    SlackChannel,
    Webhook,
)
from coterie.activities.processes.bubblewrap import Bubblewrap
from coterie.activities.processes.process_group import ProcessLimits
from coterie.activities.processes.search_path import fixed_command
from coterie.activities.providers.provider import ProviderSettings
from coterie.activities.providers.provider_registry import KINDS, Maker
from coterie.activities.tool_functions.apis.api_function import Apis, HttpApi
from coterie.activities.tool_functions.functions.python_functions import PythonFunction
from coterie.activities.user_code.child_pool import UserCode
from coterie.activities.user_code.extension_provider import ExtensionProvider
from coterie.activities.workspace.command_parameters import Parameter
from coterie.activities.workspace.command_start import CACHE, PASSED_ON, SAFE_IMPORTS
from coterie.activities.workspace.function_base import Command, Workspace
from coterie.activities.workspace.memory_access import MemoryAccess
from coterie.activities.workspace.web_access import WebAccess
from coterie.documents.installed_extensions import allowed_paths
from coterie.documents.server_listings import RecordedListings, read_listings
from coterie.documents.tool_discovery import found_tools
from coterie.documents.worker_trust import TrustedConfig, key_name
from coterie.dsl.checks.agents.agent_classes import is_allowed
from coterie.dsl.model.sections.mcp_document import McpServerSection
from coterie.dsl.model.sections.provider_document import ProviderSection, provider_kind
from coterie.dsl.model.sections.worker_document import ChannelSection, CommandSection
from coterie.settings import LISTINGS_FILE, OVERRIDE_FILE, SYSTEM_FILE, Settings
from coterie.worker.sign_in_files import SignInFile

_IN_ROOMS = (activities, config, dsl, workflows, version)
"""One module at the top of each room."""


def protected_paths(trusted: TrustedConfig, settings: Settings) -> tuple[Path, ...]:
    """List files and folders that no tool function of this worker may change.

    Omit those outside the workspace, which no tool function reaches.
    """
    root = Path(trusted.workspace).resolve()
    paths = (
        settings.project / OVERRIDE_FILE,
        settings.project / LISTINGS_FILE,
        settings.state,
        *_config_roots(settings, root),
        *map(Path, trusted.documents),
        *_packages(
            (*trusted.agent_packages, *trusted.provider_packages, *trusted.tool_packages), settings
        ),
        *_programs(trusted, root, settings.environment.get("PATH", os.defpath)),
        Path(sys.prefix),
        *(Path(str(room.__file__)).resolve().parent for room in _IN_ROOMS),
        Path(str(version.__file__)).resolve().parents[1] / "gateway",
    )
    inside = (path for path in paths if _lies_in(path, root) or _lies_in(path.resolve(), root))
    return tuple(dict.fromkeys(inside))


def hidden_paths(settings: Settings) -> tuple[Path, ...]:
    """List what the sandbox hides from commands: the state and the storage of runs."""
    storage = settings.storage
    folder = (Path(storage),) if storage is not None and storage.startswith("/") else ()
    return (settings.state, *folder)


def _lies_in(path: Path, root: Path) -> bool:
    return path != root and path.is_relative_to(root)


def _config_roots(settings: Settings, workspace: Path) -> Iterator[Path]:
    """Yield the roots, and the project's own even before it exists, for the next start."""
    own = () if settings.environment.get("COTERIE_CONFIG") else (settings.project / "config",)
    for root in dict.fromkeys((*settings.config_roots, *own)):
        if workspace.is_relative_to(root):
            yield from (root / SYSTEM_FILE, root / "teams", root / "personas")
        else:
            yield root


def _packages(packages: Iterable[str], settings: Settings) -> Iterator[Path]:
    """Yield where they may be imported from, and what is imported before them."""
    folders = dict.fromkeys((settings.project, *(Path(folder) for folder in sys.path if folder)))
    for package in packages:
        parts = package.split(".")
        for folder in folders:
            yield folder.joinpath(*parts)
            yield from _modules(folder.joinpath(*parts[:-1]), parts[-1])
            for depth in range(1, len(parts)):
                yield from _modules(folder.joinpath(*parts[:depth]), "__init__")


def _modules(folder: Path, name: str) -> Iterator[Path]:
    """Yield the files that Python imports by this name, compiled ones too."""
    yield from (folder / f"{name}{suffix}" for suffix in all_suffixes())
    if (folder / f"{name}.py").is_file():
        yield folder / CACHE


def _programs(trusted: TrustedConfig, workspace: Path, path: str) -> Iterator[Path]:
    """Yield programs that run with secrets, scripted answers, and documents of APIs."""
    for words in (
        *(channel.run for channel in trusted.notify.values()),
        *(server.command for server in trusted.mcp_servers.values()),
    ):
        files = [workspace / part for part in words if (workspace / part).is_file()]
        program = shutil.which(words[0], path=path) if words else None
        for file in (*files, *([Path(program)] if program is not None else [])):
            yield file
            folder = file.parent.parent  # a program of a virtual environment imports from it
            if (folder / "pyvenv.cfg").is_file():
                yield folder
    for provider in trusted.providers.values():
        if provider.answers is not None:
            yield Path(provider.answers)
    for api in trusted.apis.values():
        if api.openapi is not None:
            yield Path(api.openapi)


def provider_settings(trusted: TrustedConfig, settings: Settings) -> dict[str, ProviderSettings]:
    """Return the providers with their keys, for the worker only."""
    return {
        name: ProviderSettings(
            name=name,
            kind=provider_kind(name, section),
            api=section.api,
            api_base=section.api_base,
            api_key=settings.secret(key) if (key := key_name(name, section)) else None,
            api_key_env=key,
            cloud=section.cloud,
            region=section.region,
            project=section.project,
            organization=section.organization,
            headers=_header_values(section, settings),
            missing_env=next(
                (env for env in section.headers.values() if settings.secret(env) is None), None
            ),
            answers=section.answers,
            mock=section.mock,
            log=section.log,
            prices=section.prices,
            context_window=section.context_window,
            reasoning=section.reasoning,
            options=section.options,
        )
        for name, section in (trusted.providers | trusted.scoped).items()
    }


def _header_values(section: ProviderSection, settings: Settings) -> dict[str, str]:
    values_by_name = {name: settings.secret(env) for name, env in section.headers.items()}
    return {name: value for name, value in values_by_name.items() if value is not None}


def channels_of(trusted: TrustedConfig, settings: Settings) -> dict[str, Channel]:
    """Return the notification channels with their secrets, for the worker only."""
    return {name: _channel(section, settings) for name, section in trusted.notify.items()}


def _channel(section: ChannelSection, settings: Settings) -> Channel:

    if section.run:
        # Coterie's own Python: commands may change the project's, and this one has secrets.
        run = tuple(part.replace("{python}", sys.executable) for part in section.run)
        run = fixed_command(run, settings.environment.get("PATH", os.defpath))
        return NotificationCommand(run, section.timeout, section.env, section.grants)
    if section.slack is not None and section.token_env is not None:
        token = settings.secret(section.token_env)
        missing_token = section.token_env if token is None else None
        return SlackChannel(
            section.slack, token, section.api, section.timeout, missing_token, section.grants
        )
    names = (section.url_env, section.secret_env)
    address, secret = (settings.secret(name) if name is not None else None for name in names)
    missing = (name for name in names if name is not None and settings.secret(name) is None)
    return Webhook(
        section.url or address, secret, section.timeout, next(missing, None), section.grants
    )


def workspace_of(
    trusted: TrustedConfig, settings: Settings, sandbox: Bubblewrap | None = None
) -> Workspace:
    """Build the workspace of tool functions.

    Args:
        trusted: The worker's configuration.
        settings: The environment.
        sandbox: The sandbox of commands.
    """
    limits = trusted.sandbox
    return Workspace(
        root=Path(trusted.workspace),
        commands={name: _command(name, command) for name, command in trusted.commands.items()},
        trusted_paths=trusted.trusted_paths,
        environment=settings.environment,
        protected=protected_paths(trusted, settings),
        sandbox=sandbox,
        readable=tuple(map(Path, trusted.sandbox.read)),
        hidden=hidden_paths(settings),
        limits=ProcessLimits(
            cpu=ceil(limits.max_cpu),
            memory=limits.max_memory_mb << 20,
            processes=limits.max_processes,
            output=limits.max_output_mb << 20,
        ),
        web=web_access_of(trusted),
        memory=memory_access_of(trusted, settings),
    )


def memory_access_of(trusted: TrustedConfig, settings: Settings) -> MemoryAccess:
    """Return where agents remember; the address of a database is a secret."""
    if trusted.memory is None:
        return MemoryAccess()
    variable, project = trusted.memory.url_env, trusted.memory.project
    return MemoryAccess(variable, settings.secret(variable), project)


def _command(name: str, section: CommandSection) -> Command:
    return Command(
        name=name,
        run=section.run,
        timeout=section.timeout,
        cwd=section.cwd,
        env=section.env,
        once=section.once,
        network=section.network,
        parameters={
            key: Parameter(name=key, **parameter.model_dump())
            for key, parameter in section.parameters.items()
        },
    )


def python_functions(
    trusted: TrustedConfig, settings: Settings, user_code: UserCode
) -> dict[str, PythonFunction]:
    """Return the functions that are tools, with the secrets that the worker lets them read.

    Raises:
        CommandError: A package of tools cannot be used.
    """
    values = {name: settings.secret(name) for name in trusted.tool_env}
    secrets = {name: value for name, value in values.items() if value is not None}
    return {
        tool.name: PythonFunction(tool, user_code, secrets)
        for tool in found_tools(settings, trusted.tool_packages)
    }


def mcp_servers_of(trusted: TrustedConfig, settings: Settings) -> McpServers:
    """Build the connections to MCP servers; each server gets only the variables that it names."""
    servers = {
        name: _mcp_server(name, section, Path(trusted.workspace), settings)
        for name, section in trusted.mcp_servers.items()
    }
    return McpServers(servers, lambda: read_listings(settings))


def apis_of(trusted: TrustedConfig, settings: Settings) -> Apis:
    """Build the HTTP APIs; a request carries only the secrets that its API names."""
    apis: dict[str, HttpApi] = {}
    for name, section in trusted.apis.items():
        secrets = {secret: settings.secret(secret) for secret in section.secrets}
        values = {secret: value for secret, value in secrets.items() if value is not None}
        apis[name] = HttpApi(name, section, values, web_access_of(trusted))
    return Apis(apis, RecordedListings(settings))


def web_access_of(trusted: TrustedConfig) -> WebAccess:
    """Return what calls may reach on the web."""
    web = trusted.web
    return WebAccess(
        fetch=web.fetch,
        search=web.search,
        arxiv=web.arxiv,
        hosts=web.hosts,
        private_hosts=web.private_hosts,
        robots=web.robots,
        engines=web.engines,
        push_hosts=web.push_hosts,
    )


def _mcp_server(
    name: str, section: McpServerSection, folder: Path, settings: Settings
) -> McpServer:
    # Coterie's own Python, as for channels: the project's may be changed by commands.
    command = tuple(part.replace("{python}", sys.executable) for part in section.command)
    command = fixed_command(command, settings.environment.get("PATH", os.defpath))
    secrets = {secret: settings.secret(secret) for secret in section.secrets}
    values = {secret: value for secret, value in secrets.items() if value is not None}
    return McpServer(
        name=name,
        section=section.model_copy(update={"command": command}),
        folder=folder,
        environment=_passed_on(settings) | SAFE_IMPORTS if section.command else {},
        values=values,
        sign_ins=SignInFile(settings, name),
    )


def _passed_on(settings: Settings) -> dict[str, str]:
    return {
        key: value
        for key, value in settings.environment.items()
        if key in PASSED_ON or key.startswith("LC_")
    }


def provider_makers(
    trusted: TrustedConfig, reached: Mapping[str, ProviderSettings], user_code: UserCode
) -> dict[str, Maker]:
    """Return the kinds of providers that the packages of this worker give, by name and by path.

    Raises:
        CommandError: A name is ambiguous.
    """
    packages = trusted.provider_packages
    paths = dict(allowed_paths("coterie.providers", packages, KINDS))
    for settings in reached.values():
        if ":" in settings.kind and is_allowed(settings.kind.partition(":")[0], packages):
            paths[settings.kind] = settings.kind
    return {
        name: partial(ExtensionProvider, path, user_code=user_code) for name, path in paths.items()
    }


def agent_types(trusted: TrustedConfig) -> dict[str, type[BaseAgent]]:
    """Return the agent types that the packages of this worker name.

    Raises:
        CommandError: A name is ambiguous.
    """
    paths = allowed_paths("coterie.agents", trusted.agent_packages, BUILT_IN)
    return {name: extension_agent(path) for name, path in paths.items()}


def user_code_of(trusted: TrustedConfig, settings: Settings) -> UserCode:
    """Build the runner of user packages, with a command's environment and the named variables.

    Their processes work in the workspace.
    """
    names = {*PASSED_ON, *trusted.agent_env}
    environment = {
        key: value
        for key, value in settings.environment.items()
        if key in names or key.startswith("LC_")
    }
    return UserCode(Path(trusted.workspace), environment, (str(settings.project),))
