"""Compile a plan on the worker, for starts with a team name or inline YAML.

Nothing that comes with a start is trusted: a name finds only documents of the catalog, never a
path; inline YAML is merged over the worker's own and may not configure access to the world.
"""

import asyncio
from collections.abc import Mapping, Sequence

from temporalio import activity

from activities.contracts import (
    COMPILE_TEAM,
    CompileRequest,
    CompileResult,
    OwnQueue,
    VisibilitySettings,
)
from coterie.documents.catalog import Catalog, Located
from coterie.documents.mcp_listings import read_listings
from coterie.documents.product_capabilities import capabilities
from coterie.documents.tool_packages import known_skills
from coterie.documents.trusted_catalog import scope_providers
from coterie.documents.worker_trust import TrustedConfig, absolute_providers
from coterie.settings import Settings
from coterie.worker.provider_queues import ProviderQueue
from dsl.analysis.findings import with_needs
from dsl.compile.compiler import Compiled, SourceText, compile_sources
from dsl.compile.server_offers import with_servers
from dsl.errors import InvalidDocument, listed, nearest
from dsl.model.plan import Plan

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
    ) -> None:
        """Know what the worker offers.

        Args:
            settings: Of the worker.
            trusted: Its configuration.
            queues: Of the providers with a rate limit.
            visibility: None if the configuration turns it off.
            sandboxed: Whether its commands run in a sandbox.
        """
        self._visibility = visibility
        self._settings = settings
        self._trusted = trusted
        self._queues = dict(queues or {})
        self._catalog = Catalog(settings)
        self._capabilities = capabilities(
            trusted.providers,
            trusted.commands,
            trusted.notify,
            trusted.agent_packages,
            known_skills(settings, trusted.tool_packages),
            provider_packages=trusted.provider_packages,
            sandboxed=sandboxed and trusted.sandbox.mode != "none",
        )

    @activity.defn(name=COMPILE_TEAM)
    async def compile_team(self, request: CompileRequest) -> CompileResult:
        """Return the plan or all problems; never raise for a person's mistake."""
        if request.team is None and request.document is None:
            return CompileResult(visibility=self._visibility)
        try:
            plan = await asyncio.to_thread(self._plan, request)
            queues = self._queues_of(plan)
            return CompileResult(plan=plan, queues=queues, visibility=self._visibility)
        except InvalidDocument as error:
            return CompileResult(refused=_problems_text(error))

    def _queues_of(self, plan: Plan) -> dict[str, OwnQueue]:
        """Return the queues of rate-limited providers, so that no first call is redirected."""
        used = {persona.provider for persona in plan.personas.values()}
        return {name: queue.own_queue for name, queue in self._queues.items() if name in used}

    def _plan(self, request: CompileRequest) -> Plan:
        if request.team is None:
            return self._compile_sources("inline", self._inline(request.document or "")).plan
        located = self._locate_team(request.team)
        compiled = self._compile_sources(located.name, self._catalog.sources(located))
        own = absolute_providers(compiled.providers, compiled.tree, self._settings)
        return scope_providers(compiled.plan, located.name, own, self._trusted)

    def _compile_sources(self, name: str, sources: Sequence[SourceText]) -> Compiled:
        listed = {"mcp_listings": read_listings(self._settings)}  # the file may have changed
        known = with_servers(
            self._capabilities.model_copy(update=listed), self._trusted.mcp_servers
        )
        compiled = compile_sources(sources, known, name=name)
        return with_needs(compiled)

    def _locate_team(self, team: str) -> Located:
        located = self._catalog.named(team)
        if located is None:
            known = self._catalog.names()
            raise _UnknownTeam(
                f"this worker has no team {team!r}; it has {listed(known)}", team, known
            )
        return located

    def _inline(self, document: str) -> tuple[SourceText, ...]:
        root = self._catalog.roots[0]
        return (
            *self._catalog.root_sources(root),
            SourceText(file=INLINE, text=document, trusted=False),
            *self._catalog.override(),
        )


class _UnknownTeam(InvalidDocument):
    """A problem without a place in a file."""

    def __init__(self, message: str, team: str, known: tuple[str, ...]) -> None:
        super().__init__(())
        hint = nearest(team, known)
        self.message = f"{message}: {hint}" if hint else message


def _problems_text(error: InvalidDocument) -> str:
    """Format the problems as one text for a failed run."""
    if isinstance(error, _UnknownTeam):
        return error.message
    lines = [f"the document does not compile ({len(error.problems)} found):"]
    for problem in error.problems:
        at = f"{problem.file}:{problem.line}:{problem.column}"
        fix = f" (fix: {problem.fix})" if problem.fix else ""
        allowed = f"; allowed: {problem.allowed}" if problem.allowed else ""
        lines.append(f"{at}: {problem.message} [{problem.code}]{allowed}{fix}")
    return "\n".join(lines)
