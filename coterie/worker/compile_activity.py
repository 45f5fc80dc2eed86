"""Compile a plan on the worker, for starts with a team name or inline YAML.

Nothing that comes with a start is trusted: a name finds a deployed version, or a document of the
catalog, never a path; inline YAML and the files of a version are merged over the worker's own and
may not configure access to the world.
"""

import asyncio
from collections.abc import Coroutine, Mapping, Sequence
from typing import Any, TypeVar

from temporalio import activity
from temporalio.client import Client, WorkflowExecutionStatus
from temporalio.exceptions import ApplicationError
from temporalio.service import RPCError

from coterie.activities.contracts import (
    COMPILE_TEAM,
    CompileRequest,
    CompileResult,
    OwnQueue,
    VisibilitySettings,
)
from coterie.activities.process_pool.thread_runner import ThreadRunner
from coterie.activities.process_pool.work import WorkEnded, WorkRunner
from coterie.activities.threads.run_threads import TURN_THREADS
from coterie.deployed.registry import DeployedVersion, Registry
from coterie.documents.catalog import Catalog, Located
from coterie.documents.product_capabilities import capabilities
from coterie.documents.server_listings import compared_listings
from coterie.documents.tool_packages import known_functions
from coterie.documents.trusted_catalog import scope_providers
from coterie.documents.worker_trust import TrustedConfig, absolute_providers
from coterie.dsl.analysis.findings import with_needs
from coterie.dsl.compile.compiler import SourceText, compile_sources
from coterie.dsl.compile.server_offers import with_servers
from coterie.dsl.compile.temporal_offers import with_temporal_calls
from coterie.dsl.errors import InvalidDocument, listed, nearest
from coterie.dsl.model.capabilities import Capabilities
from coterie.dsl.model.plan import Plan
from coterie.failures import CommandError
from coterie.settings import Settings
from coterie.worker.provider_queues import ProviderQueue
from coterie.worker.started_documents import (
    COMPILE,
    CompiledStart,
    StartedDocument,
    cpu_seconds,
    problems_text,
)

_LOOK_SECONDS = 2.0
"""Between two looks; work that is faster costs no request."""

Result = TypeVar("Result")


async def while_run_is_open(client: Client | None, work: Coroutine[Any, Any, Result]) -> Result:
    """Return the result of work, or cancel it and this call once the run is closed.

    Args:
        client: Asks for the run; None: nobody asks.
        work: Ends when it is cancelled.
    """
    working = asyncio.create_task(work)
    try:
        while not working.done():
            await asyncio.wait({working}, timeout=_LOOK_SECONDS)
            if not working.done() and client is not None and await _is_closed(client):
                working.cancel()
        return await working
    finally:
        if not working.done():
            working.cancel()
            await asyncio.wait({working})


async def _is_closed(client: Client) -> bool:
    info = activity.info()
    run = client.get_workflow_handle(info.workflow_id or "", run_id=info.workflow_run_id)
    try:
        return (await run.describe()).status != WorkflowExecutionStatus.RUNNING
    except RPCError:  # the server is away: the work is still wanted
        return False


INLINE = "inline document"
"""File name of an inline document in problems."""


class CompileActivities:
    """Compiles with this worker's capabilities."""

    def __init__(
        self,
        settings: Settings,
        trusted: TrustedConfig,
        queues: Mapping[str, ProviderQueue] | None = None,
        visibility: VisibilitySettings | None = None,
        *,
        sandboxed: bool = True,
        client: Client | None = None,
        runner: WorkRunner | None = None,
    ) -> None:
        """Take the worker's own settings.

        Args:
            settings: The project, which has the catalog.
            trusted: The worker's configuration.
            queues: Of the providers with a rate limit.
            visibility: What runs show of themselves.
            sandboxed: Whether its commands run in a sandbox.
            client: Tells whether a run that waits for its plan is still open.
            runner: Compiles documents that come with a start; without it, this process does.
        """
        self._client = client
        self._registry = None if client is None else Registry(client, settings.task_queue)
        self._runner = runner or ThreadRunner()
        self._visibility = visibility
        self._decisions_root = trusted.decisions_root
        self._settings = settings
        self._trusted = trusted
        self._queues = dict(queues or {})
        self._catalog = Catalog(settings)
        self._capabilities = capabilities(
            trusted.providers,
            trusted.commands,
            trusted.notify,
            trusted.agent_packages,
            known_functions(settings, trusted.tool_packages),
            provider_packages=trusted.provider_packages,
            offline_tools=trusted.offline_tools,
            trusted_paths=trusted.trusted_paths,
            sandboxed=sandboxed and trusted.sandbox.mode != "none",
        )

    @activity.defn(name=COMPILE_TEAM)
    async def compile_team(self, request: CompileRequest) -> CompileResult:
        """Return the plan or all problems; never raise for a person's mistake."""
        if request.team is None and request.document is None:
            return CompileResult(visibility=self._visibility, decisions_root=self._decisions_root)
        try:
            compiled = await self._compile_request(request)
        except InvalidDocument as error:
            return CompileResult(refused=_refusal_text(error))
        if compiled.plan is None:
            return CompileResult(refused=compiled.refused)
        queues = self._queues_of(compiled.plan)
        return CompileResult(
            plan=compiled.plan,
            queues=queues,
            visibility=self._visibility,
            decisions_root=self._decisions_root,
            version=compiled.version,
        )

    def _queues_of(self, plan: Plan) -> dict[str, OwnQueue]:
        """Return the queues of rate-limited providers, so that no first call is redirected."""
        providers = plan.providers
        return {name: queue.own_queue for name, queue in self._queues.items() if name in providers}

    async def _compile_request(self, request: CompileRequest) -> CompiledStart:
        if request.team is not None:
            version = await self._deployed_version(request.team)
            if isinstance(version, CompiledStart):
                return version
            if version is not None:
                sources = version.content.sources
                compiled = await self._compile_untrusted(sources, version.team)
                return compiled.model_copy(update={"version": version.name})
            return CompiledStart(plan=await TURN_THREADS.run(self._plan_of_team, request.team))
        source = SourceText(file=INLINE, text=request.document or "", trusted=False)
        return await self._compile_untrusted((source,), "inline")

    async def _deployed_version(self, team: str) -> DeployedVersion | CompiledStart | None:
        """Return the version that a start names; None: the team has not been deployed."""
        if self._registry is None:
            return None
        try:
            return await self._registry.version(team)
        except CommandError as error:
            return CompiledStart(refused=str(error))

    async def _compile_untrusted(self, sources: Sequence[SourceText], name: str) -> CompiledStart:
        document = await TURN_THREADS.run(self._document_of_start, sources, name)
        seconds = cpu_seconds(sum(len(source.text) for source in sources))
        compiling = self._runner.run(COMPILE, document.packed(), seconds)
        try:
            return await while_run_is_open(self._client, compiling)
        except WorkEnded as end:
            if end.limit is None:
                raise ApplicationError(f"the document could not be compiled: {end}") from None
            why = f"the document is too costly to compile: {end}; divide it, or shorten its rules"
            return CompiledStart(refused=why)

    def _plan_of_team(self, team: str) -> Plan:
        located = self._locate_team(team)
        sources, known_capabilities = self._catalog.sources(located), self._current_capabilities()
        compiled = with_needs(compile_sources(sources, known_capabilities, name=located.name))
        own = absolute_providers(compiled.providers, compiled.tree, self._settings)
        return scope_providers(compiled.plan, located.name, own, self._trusted)

    def _document_of_start(self, sources: Sequence[SourceText], name: str) -> StartedDocument:
        merged = self._with_own_sources(sources)
        return StartedDocument(merged, self._current_capabilities(), name)

    def _current_capabilities(self) -> Capabilities:
        update = {"server_listings": compared_listings(self._settings)}  # the file may have changed
        current = self._capabilities.model_copy(update=update)
        current = with_temporal_calls(current, self._trusted.on_temporal)
        return with_servers(current, self._trusted.mcp_servers, self._trusted.apis)

    def _locate_team(self, team: str) -> Located:
        located = self._catalog.named(team)
        if located is None:
            names = self._catalog.names()
            raise _UnknownTeam(
                f"this worker has no team {team!r}; it has {listed(names)}", team, names
            )
        return located

    def _with_own_sources(self, sources: Sequence[SourceText]) -> tuple[SourceText, ...]:
        """Return what is compiled: a version brings its personas, so those here must not mix in."""
        root = self._catalog.roots[0]
        is_version = all(source.whole for source in sources)
        own = self._catalog.system_source(root) if is_version else self._catalog.root_sources(root)
        return (*own, *sources, *self._catalog.override())


class _UnknownTeam(InvalidDocument):
    """A problem without a place in a file."""

    def __init__(self, message: str, team: str, known: tuple[str, ...]) -> None:
        super().__init__(())
        hint = nearest(team, known)
        self.message = f"{message}: {hint}" if hint else message


def _refusal_text(error: InvalidDocument) -> str:
    return error.message if isinstance(error, _UnknownTeam) else problems_text(error)
