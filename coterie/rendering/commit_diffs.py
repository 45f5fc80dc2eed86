"""What requests of `Git.commit` would commit, where the files of the run are."""

from collections.abc import Mapping
from pathlib import Path

from coterie.activities.tool_functions.repository.commit_diff import shown_commit
from coterie.activities.tool_functions.repository.git_commit import COMMIT
from coterie.activities.workspace.function_base import Workspace
from coterie.workflows.core.requests import Pending


class CommitDiffs:
    """Adds the diff to a request, and reads it once for each value that a request shows."""

    def __init__(self, workspace: Path | None, environment: Mapping[str, str]) -> None:
        """Keep where the files are.

        Args:
            workspace: Folder of the files of the run; None if it is elsewhere.
            environment: Environment of the command.
        """
        self._workspace = workspace
        self._environment = environment
        self._known: dict[tuple[str, str], tuple[str, ...]] = {}

    async def complete(self, request: Pending) -> Pending:
        """Return the request with the diff of what it would commit."""
        if self._workspace is None or request.call is None or request.call.name != COMMIT.name:
            return request
        key = request.id, request.digest
        if key not in self._known:
            here = Workspace(self._workspace, environment=self._environment)
            self._known[key] = tuple(await shown_commit(request.given, here))
        return request.model_copy(update={"commit": self._known[key]})
