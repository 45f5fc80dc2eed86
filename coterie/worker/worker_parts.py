"""Open and close the resources that the activities of a worker share."""

import logging
from collections.abc import AsyncGenerator, Iterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from temporalio.api.enums.v1 import IndexedValueType
from temporalio.api.operatorservice.v1 import ListSearchAttributesRequest
from temporalio.client import Client
from temporalio.service import RPCError

from coterie.activities.contracts import VisibilitySettings
from coterie.activities.mcp_client.server_pool import McpServers
from coterie.activities.model_prices import Pricing
from coterie.activities.notifications import Webhook
from coterie.activities.process_pool.process_pool import ProcessPool
from coterie.activities.processes.bubblewrap import Bubblewrap
from coterie.activities.providers.provider_registry import Providers
from coterie.activities.user_code.child_pool import UserCode
from coterie.documents.tool_discovery import tool_code
from coterie.documents.worker_trust import TrustedConfig
from coterie.dsl.known_secrets import KnownSecrets, secrets_of
from coterie.runtime.task_board import TaskBoard
from coterie.settings import Settings
from coterie.terminal import note
from coterie.worker.blocked_run import BlockedRuns, worker_name
from coterie.worker.command_sandbox import command_sandbox
from coterie.worker.provider_queues import ProviderQueue, provider_queues
from coterie.worker.surroundings import (
    channels_of,
    mcp_servers_of,
    memory_access_of,
    provider_makers,
    provider_settings,
    user_code_of,
)
from coterie.workflows.temporal.attribute_kinds import KINDS

_TYPES = {
    "Keyword": IndexedValueType.INDEXED_VALUE_TYPE_KEYWORD,
    "KeywordList": IndexedValueType.INDEXED_VALUE_TYPE_KEYWORD_LIST,
}
_SOME_SECONDS = timedelta(seconds=10)
_log = logging.getLogger("coterie")


async def visibility_settings(client: Client, trusted: TrustedConfig) -> VisibilitySettings | None:
    """Return the settings for runs; log a warning for each that the server lacks."""
    if not trusted.sets_visibility:
        return None
    has_attributes = trusted.search_attributes and await _register_attributes(client)
    return VisibilitySettings(search_attributes=has_attributes, event_groups=trusted.event_groups)


async def _register_attributes(client: Client) -> bool:
    request = ListSearchAttributesRequest(namespace=client.namespace)
    try:
        attributes = await client.operator_service.list_search_attributes(
            request, timeout=_SOME_SECONDS
        )
    except RPCError as error:
        _log.warning(
            "search attributes are left off: the server does not list them (%s)", error.message
        )
        return False
    missing = {
        name: kind
        for name, kind in KINDS.items()
        if attributes.custom_attributes.get(name) != _TYPES[kind]
    }
    if missing:
        options = " ".join(f"--name {name} --type {kind}" for name, kind in missing.items())
        _log.warning(
            "search attributes are left off: the namespace %r lacks %s; register them and start "
            "the worker again: temporal operator search-attribute create --namespace %s %s",
            client.namespace,
            ", ".join(missing),
            client.namespace,
            options,
        )
    return not missing


@dataclass(frozen=True, slots=True)
class WorkerParts:
    """The shared parts of one worker process."""

    providers: Providers
    pricing: Pricing
    queues: Mapping[str, ProviderQueue]
    """Of the providers with a rate limit, by provider."""
    user_code: UserCode
    """Runs agents of other packages."""
    tools: UserCode
    """Runs tools of other packages."""
    pool: ProcessPool
    """Runs work that takes long, or whose input is not trusted."""
    servers: McpServers
    visibility: VisibilitySettings | None
    """None if the configuration turns it off."""
    commands_in: Bubblewrap | None
    """The sandbox of commands; None if they run without one."""
    known: KnownSecrets
    board: TaskBoard


@asynccontextmanager
async def worker_parts(
    client: Client, settings: Settings, trusted: TrustedConfig, task_queue: str
) -> AsyncGenerator[WorkerParts]:
    """Open the parts for the block; at its end, stop child processes and close connections."""
    commands_in, warning = command_sandbox(trusted, settings)
    if warning is not None:
        note(warning)
    provider_config = provider_settings(trusted, settings)
    async with AsyncExitStack() as closing:
        models = tool_code(settings)  # of their own: a call may take minutes
        closing.push_async_callback(models.close)
        providers = Providers(provider_config, provider_makers(trusted, provider_config, models))
        closing.push_async_callback(providers.close)
        servers = mcp_servers_of(trusted, settings)
        closing.push_async_callback(servers.close)
        tools = tool_code(settings, Path(trusted.workspace))
        closing.push_async_callback(tools.close)
        user_code = user_code_of(trusted, settings)
        closing.push_async_callback(user_code.close)
        pool = ProcessPool()
        closing.push_async_callback(pool.close)
        visibility = await visibility_settings(client, trusted)
        blocked_runs = BlockedRuns(client, worker_name())
        closing.push_async_callback(blocked_runs.close)
        board = TaskBoard(blocked_runs)
        closing.callback(board.close)
        yield WorkerParts(
            providers=providers,
            pricing=Pricing(provider_config),
            queues=provider_queues(trusted, task_queue),
            user_code=user_code,
            tools=tools,
            pool=pool,
            servers=servers,
            visibility=visibility,
            commands_in=commands_in,
            known=KnownSecrets(_secret_values(trusted, settings)),
            board=board,
        )


def _secret_values(trusted: TrustedConfig, settings: Settings) -> Iterator[str]:
    """Yield every secret that this worker knows."""
    yield from secrets_of(settings.environment)
    servers = (*trusted.mcp_servers.values(), *trusted.apis.values())
    secret_names = (name for server in servers for name in server.secrets)
    for name in (*trusted.tool_env, *secret_names):
        yield settings.secret(name) or ""
    yield memory_access_of(trusted, settings).address or ""
    for provider in provider_settings(trusted, settings).values():
        yield provider.api_key or ""
        yield from provider.headers.values()
    for channel in channels_of(trusted, settings).values():
        if isinstance(channel, Webhook):
            yield channel.url or ""
            yield channel.secret or ""
