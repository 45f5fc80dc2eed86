"""`coterie serve`: listen, know who asks, and answer; beside it a server and a worker if needed."""

import asyncio
import ipaddress
import socket
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import uvicorn
from starlette.routing import Route

from coterie.activities.os_errors import reason_of
from coterie.activities.workspace.project_files import write_private
from coterie.audit.audit_buffer import AuditSender
from coterie.documents.catalog import Catalog
from coterie.dsl.model.sections.access_document import AccessSection
from coterie.dsl.model.sections.safe_addresses import is_safe_url
from coterie.failures import CommandError
from coterie.gateway.app import application, streams_of
from coterie.gateway.browser_link import show_link
from coterie.gateway.console.console_routes import console_routes
from coterie.gateway.console.server_sign_ins.server_sign_in_routes import server_sign_in_routes
from coterie.gateway.console.states.first_project import FirstProject, is_empty
from coterie.gateway.doors.a2a.a2a_door import A2aDoor
from coterie.gateway.doors.agui.agui_door import agui_routes
from coterie.gateway.doors.assistant_pages import assistant_routes
from coterie.gateway.doors.mcp_door import McpDoor
from coterie.gateway.doors.openai.openai_door import OpenAiDoor
from coterie.gateway.doors.openai.openai_errors import OpenAiErrors
from coterie.gateway.doors.slack.slack_door import SlackDoor
from coterie.gateway.doors.webhooks.webhook_door import WebhookDoor
from coterie.gateway.identity.access_settings import load_access
from coterie.gateway.operations.run_access import RunAccess
from coterie.gateway.request_gate import MAX_HEADER, MCP_PATH, refuse_head
from coterie.gateway.sign_in import SignIn, sign_in_of
from coterie.gateway.worker_process import WorkerProcess, needs_worker
from coterie.http_server.http_connections import ConnectionLimits, connection_maker
from coterie.http_server.http_listener import HttpServer, listener
from coterie.logs import to_file_if_writable
from coterie.server.connection import Connection, open_connection
from coterie.server.embedded_server import ServerMoved, supervise
from coterie.settings import Settings
from coterie.signing.key_files import read_key
from coterie.terminal import note
from coterie.worker.sign_in_files import ORIGIN_FILE

_LIMITS = ConnectionLimits(authorized=1_000, authorized_per_identity=100, header_bytes=MAX_HEADER)
_GRACE_SECONDS = 2


@dataclass(frozen=True, slots=True)
class ServeOptions:
    """How a gateway is served."""

    host: str
    port: int
    """0 takes a free one."""
    starts_worker: bool = True
    """Whether to start a worker where none runs, on the embedded server."""
    opens_browser: bool = True
    key: Path | None = None
    """The file of the key that signs decisions."""


def check_host(host: str, access: AccessSection) -> None:
    """Refuse to listen where others reach the gateway unless they must sign in, encrypted.

    Raises:
        CommandError: Says what is missing.
    """
    if _is_loopback(host):
        return
    missing = [
        text
        for text, is_missing in (
            ("`access.oidc`", access.oidc is None),
            (
                "an https `access.public_url`",
                access.public_url is None or not is_safe_url(access.public_url, loopback=False),
            ),
        )
        if is_missing
    ]
    if missing:
        raise CommandError(
            f"--host {host} lets other machines reach the gateway, and coterie.yml lacks "
            f"{' and '.join(missing)}; add it, or leave out --host to listen at 127.0.0.1"
        )


def check_key(file: Path | None) -> None:
    """Refuse a key that cannot sign for people whom the gateway has verified.

    Raises:
        CommandError: Says why.
    """
    if file is not None and read_key(file).coterie_key != "gateway":
        raise CommandError(
            f"{file} is the key of a person; issue one for this gateway: "
            "`coterie keys issue --gateway NAME`"
        )


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def address_of(host: str) -> str:
    """Return the numeric address of a host.

    Raises:
        CommandError: It has none.
    """
    try:
        return str(socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)[0][4][0])
    except OSError as error:
        raise CommandError(f"--host {host} has no address: {reason_of(error)}") from None


async def serve_gateway(settings: Settings, options: ServeOptions) -> None:
    """Serve people and programs until it is cancelled.

    Raises:
        CommandError: It may not listen there, the port is taken, or there is no Temporal server.
        InvalidDocument: `access` in `coterie.yml` has problems.
    """
    check_host(options.host, load_access(settings))
    check_key(options.key)
    to_file_if_writable(settings)
    with listener(options.port, address_of(options.host)) as at:
        port = at.getsockname()[1]
        sign_in = sign_in_of(settings, port)
        connection = await open_connection(settings, start=True)
        access = RunAccess(settings, connection, options.key)
        _say_where(connection, options.host, port)
        async with (
            _worker_beside(connection, settings, options) as worker,
            _answering(access, sign_in, at, worker),
        ):
            page, origin = settings.state / "open.html", settings.state / ORIGIN_FILE
            try:
                write_private(origin, f"{sign_in.gate.origins[0]}\n")
                await show_link(
                    sign_in.link(), settings.environment, page, opens=options.opens_browser
                )
                await _supervise_server(access)
            finally:
                page.unlink(missing_ok=True)
                origin.unlink(missing_ok=True)


def _say_where(connection: Connection, host: str, port: int) -> None:
    note(f"serving   http://{host}:{port}; press Ctrl-C to stop")
    note(f"Temporal  {connection.address}")


@asynccontextmanager
async def _worker_beside(
    connection: Connection, settings: Settings, options: ServeOptions
) -> AsyncGenerator[WorkerProcess | None]:
    """Have a worker on the embedded server; never start one for a server of others."""
    if not await needs_worker(connection.client, settings):
        yield None
        return
    if connection.embedded is None or not options.starts_worker:
        note(f"no worker polls the queue {settings.task_queue!r}: start `coterie worker`")
        yield None
        return
    if is_empty(settings):
        note("the folder is empty: the console offers an example, which runs without a key")
    elif not Catalog(settings).own():
        note("the project has no teams yet: `coterie init` creates one, with a test")
    worker = WorkerProcess(settings)
    await worker.start()
    note(f"started a worker; its log is {worker.log_file}")
    try:
        yield worker
    finally:
        await worker.stop()


@asynccontextmanager
async def _answering(
    access: RunAccess, sign_in: SignIn, at: socket.socket, worker: WorkerProcess | None
) -> AsyncGenerator[None]:
    """Answer requests within the block."""
    access.audit = sign_in.gate.audit
    audit = AuditSender(access.audit, lambda: access.client, access.settings, access.key_file)
    door = McpDoor(access)
    first = None if worker is None else FirstProject(access, worker.restart)
    openai_door = OpenAiDoor(access, sign_in.gate.origins[0])
    slack_door = SlackDoor(access, sign_in.gate.access)
    doors = (
        Route(MCP_PATH, door),
        *A2aDoor(access).routes,
        *openai_door.routes(),
        *slack_door.routes(),
        *assistant_routes(),
        *WebhookDoor(access).routes(),
        *agui_routes(access),
    )
    logins = server_sign_in_routes(access, sign_in.gate)
    routes = (*sign_in.routes, *doors, *logins, *console_routes(access, first))
    app = application(access, sign_in.authenticate, routes)
    config = uvicorn.Config(
        OpenAiErrors(sign_in.around(app)),
        log_config=None,
        access_log=False,
        http=cast("type[asyncio.Protocol]", connection_maker(_LIMITS, refuse_head)),
        ws="none",
        backlog=_LIMITS.backlog,
        proxy_headers=False,
        server_header=False,
        timeout_graceful_shutdown=_GRACE_SECONDS,
    )
    server = HttpServer(config)
    serving = asyncio.create_task(server.serve(sockets=[at]))
    slack_door.begin()
    try:
        yield
    finally:
        await streams_of(app).close()  # else they would keep the server until it cuts them
        server.should_exit = True
        await asyncio.wait({serving}, timeout=2 * _GRACE_SECONDS)
        serving.cancel()
        await door.close()
        await slack_door.close()
        await sign_in.close()
        await audit.close()


async def _supervise_server(access: RunAccess) -> None:
    """Restart an embedded server whenever it dies; never return."""
    while True:
        embedded = access.connection.embedded
        if embedded is None:
            await asyncio.Event().wait()
            return
        try:
            await supervise(
                embedded.server,
                embedded.record,
                lambda: note("the embedded server died and was restarted"),
            )
        except ServerMoved as moved:
            note(f"{moved}; the gateway continues there")
            access.connection = await open_connection(access.settings, start=True)
