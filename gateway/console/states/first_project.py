"""The example that a gateway offers in an empty folder: created and started when its user asks.

It runs without a key: a script answers for the model. Nothing is written where files are.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import cast

from coterie.documents.new_project import TEAM, create_project, project_files
from coterie.gateway.console.page_templates import ExampleOffer
from coterie.gateway.identity.identity import Identity, Role
from coterie.gateway.operations.error_reports import Rejection
from coterie.gateway.operations.operations_table import operation_named
from coterie.gateway.operations.performance import perform
from coterie.gateway.operations.permissions import Allowed, may
from coterie.gateway.operations.run_access import RunAccess
from coterie.gateway.operations.run_starts import StartedRun
from coterie.settings import STATE_FOLDER, Settings, load

CHANGES = "the search is faster"
_IGNORED = (STATE_FOLDER, ".git")
"""What an empty folder may have."""


class FirstProject:
    """Creates the example, and starts its run."""

    def __init__(self, access: RunAccess, restart_worker: Callable[[], Awaitable[None]]) -> None:
        """Take the runs, and what lets the worker of this gateway read the new project."""
        self._access = access
        self._restart_worker = restart_worker
        self._creating = asyncio.Lock()

    def offer(self, identity: Identity) -> ExampleOffer | None:
        """Return what it would create; None in a folder with files, or for who may not."""
        is_user = identity.method == "local"
        if not is_user or not isinstance(may(identity, (Role.STARTER,), TEAM), Allowed):
            return None
        if not is_empty(self._access.settings):
            return None
        folder = str(self._access.settings.project)
        return ExampleOffer(folder, tuple(map(str, project_files())), TEAM)

    async def create(self, identity: Identity) -> str:
        """Write the files, start the run, and return its id.

        Raises:
            CommandError: The folder has files, or the identity may not write there.
        """
        access = self._access
        async with self._creating:
            if self.offer(identity) is None:
                raise Rejection(
                    409,
                    "not_empty",
                    "the example is created only in an empty folder, by the user who serves it",
                    "Create it elsewhere with `coterie init FOLDER`.",
                )
            await asyncio.to_thread(create_project, access.settings.project)
            access.settings = load(access.settings.environment, access.settings.cwd)
            await self._restart_worker()
        start = operation_named("start")
        asked = start.input.model_validate({"team": TEAM, "context": {"changes": CHANGES}})
        return cast("StartedRun", await perform(access, start, asked, identity)).run


def is_empty(settings: Settings) -> bool:
    """Return whether a project's folder has no files, but for what Coterie and git keep there."""
    try:
        return all(entry.name in _IGNORED for entry in settings.project.iterdir())
    except OSError:
        return False
