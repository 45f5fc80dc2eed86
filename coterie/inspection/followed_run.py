"""A run as its histories tell it: from a server, or from a file."""

from dataclasses import dataclass

from temporalio.client import Client, WorkflowHistory

from coterie.failures import CommandError
from coterie.replay.rebuilt_run import NotFollowed, Rebuilt, rebuilt
from coterie.runs.histories.history_links import links
from coterie.settings import Settings
from coterie.storage.histories import history_in


@dataclass(frozen=True, slots=True)
class FollowedRun:
    """The histories of one run, and what this code makes of them."""

    histories: tuple[WorkflowHistory, ...]
    """Oldest first: one for each continue-as-new."""
    parts: tuple[Rebuilt, ...]
    """The latest ones that this code can follow, oldest first; never empty."""

    @property
    def id(self) -> str:
        """The id of the run."""
        return self.histories[-1].workflow_id

    @property
    def latest(self) -> Rebuilt:
        """The part that holds the state of the run now, or at its end."""
        return self.parts[-1]


def is_history_file(settings: Settings, source: str) -> bool:
    """Return whether a person means a file, and not the id of a run."""
    return (settings.cwd / source).is_file() or source.endswith(".json")


async def run_in_file(settings: Settings, source: str) -> FollowedRun:
    """Return the run whose history a file holds.

    Raises:
        CommandError: It is not a history, or this code cannot follow it.
    """
    history = await history_in(settings.cwd / source, settings)
    rebuilt_run = await rebuilt(history)
    if isinstance(rebuilt_run, NotFollowed):
        raise CommandError(
            f"{source} is the history of another workflow, or of another version: "
            f"{rebuilt_run.cause}"
        )
    return FollowedRun((history,), (rebuilt_run,))


async def run_on_server(client: Client, id: str) -> FollowedRun | NotFollowed:
    """Return a run with all its histories, or why this code cannot follow the latest.

    Raises:
        CommandError: The run does not exist.
    """
    histories = [history async for history in links(client, id)]
    latest = await rebuilt(histories[-1])
    if isinstance(latest, NotFollowed):
        return latest
    parts = [latest]
    for earlier in reversed(histories[:-1]):
        part = await rebuilt(earlier)
        if isinstance(part, NotFollowed):
            break
        parts.insert(0, part)
    return FollowedRun(tuple(histories), tuple(parts))
