"""Compare two runs: their paths, contexts, costs and decisions."""

from collections.abc import Sequence

from pydantic import JsonValue
from temporalio.client import Client

from coterie.dsl.evaluate.context import PathChange, differences
from coterie.dsl.values import Documented, Json
from coterie.failures import CommandError
from coterie.inspection.followed_run import FollowedRun, run_on_server
from coterie.inspection.trace import trace_of
from coterie.replay.rebuilt_run import NotFollowed
from coterie.replay.trace_events import Visit
from coterie.runs.histories.history_events import closed
from coterie.workflows.core.requests import Decision
from coterie.workflows.core.views import CostRow


class PathStep(Documented):
    """One visit on the path of a run."""

    team: str
    visit: int
    status: str | None
    """How it ended; None while it is in progress."""
    because: str
    next_team: str | None

    @property
    def turn(self) -> tuple[str, str | None, str | None]:
        """What makes two paths part: the team, how it ended, and what followed."""
        return self.team, self.status, self.next_team


class ComparedRun(Documented):
    """One of two runs that are compared."""

    run: str
    plan: str
    digest: str
    path: tuple[PathStep, ...]
    cost: CostRow
    decisions: tuple[Decision, ...]
    """Of people, in the order of the requests."""
    context: Json
    """As it is now, or was at the end."""
    output: JsonValue = None
    """What it returned; null while it is open, and if it returned nothing."""


class RunComparison(Documented):
    """Two runs, and where they differ."""

    first: ComparedRun
    second: ComparedRun
    is_same_plan: bool
    parted_at: int | None
    """Index of the first visit in which the paths differ; None if they are the same."""
    context: tuple[PathChange, ...]
    """What the second run's context has otherwise."""


def compare(first: ComparedRun, second: ComparedRun) -> RunComparison:
    """Return where two runs differ."""
    return RunComparison(
        first=first,
        second=second,
        is_same_plan=first.digest == second.digest,
        parted_at=parted_at(first.path, second.path),
        context=differences(first.context, second.context),
    )


def parted_at(first: Sequence[PathStep], second: Sequence[PathStep]) -> int | None:
    """Return the index of the first visit in which two paths differ; None if they are the same."""
    for number, (one, other) in enumerate(zip(first, second, strict=False)):
        if one.turn != other.turn:
            return number
    return None if len(first) == len(second) else min(len(first), len(second))


async def compared_run(client: Client, id: str) -> ComparedRun:
    """Read what is compared of a run, from its history.

    Raises:
        CommandError: The run does not exist, or this code cannot follow it.
    """
    followed = await run_on_server(client, id)
    if isinstance(followed, NotFollowed):
        raise CommandError(f"another version of Coterie ran {id!r} ({followed.cause})")
    return compared(followed)


def compared(followed: FollowedRun) -> ComparedRun:
    """Return what is compared of a run."""
    latest, closing = followed.latest, closed(followed.histories[-1])
    result = None if closing is None else closing.end.result
    return ComparedRun(
        run=followed.id,
        plan=latest.status.plan,
        digest=latest.status.digest,
        path=tuple(map(_path_step, trace_of(followed).visits)),
        cost=latest.cost.total,
        decisions=tuple(
            view.decision for view in latest.requests.values() if view.decision is not None
        ),
        context=latest.context,
        output=None if result is None else result.output,
    )


def _path_step(visit: Visit) -> PathStep:
    return PathStep(
        team=visit.team,
        visit=visit.visit,
        status=visit.status,
        because=visit.because,
        next_team=visit.next_team,
    )
