"""A time limit for work of many calls; the state keeps what is left when a run continues as new."""

from collections.abc import Awaitable, Callable

from coterie.dsl.model.outcomes import Outcome
from coterie.workflows.core.location import Location
from coterie.workflows.core.scope import Interrupted, Scope


async def within_time(
    seconds: float,
    name: str,
    location: Location,
    scope: Scope,
    work: Callable[[], Awaitable[Outcome]],
) -> Outcome | None:
    """Do the work, and stop it when its time is up; then the answer is None."""
    ended: list[Outcome] = []
    limits, key = scope.state.progress.time_limits, location.key

    async def job() -> None:
        ended.append(await work())

    remaining = limits.get(key, seconds)
    try:
        await scope.together({name: job}, enough=bool, seconds=remaining, begun={name})
    except Interrupted as interrupted:
        if interrupted.left is not None:
            limits[key] = interrupted.left
        raise
    limits.pop(key, None)
    return ended[0] if ended else None
