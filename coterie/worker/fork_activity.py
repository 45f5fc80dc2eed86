"""Find the fork point of another run on the worker, without trusting the caller.

The caller names only a run and a visit, or a message. Plan and state come from that run's own
history (decision 0010).
"""

from temporalio import activity
from temporalio.client import Client

from coterie.activities.contracts import FORK_RUN, ForkRequest, ForkResult
from coterie.activities.heartbeats import heartbeating
from coterie.control.fork_point import (
    ForkPoint,
    first_of,
    point_at,
    point_at_message,
    point_of_failure,
)
from coterie.failures import CommandError
from coterie.runs.call_errors import Unanswered
from coterie.worker.plan_policy import PlanPolicy
from coterie.workflows.plan_source import ADVICE


class ForkActivities:
    """Reads runs of this worker's own namespace."""

    def __init__(self, client: Client, policy: PlanPolicy) -> None:
        self._client = client
        self._policy = policy

    async def _point(self, request: ForkRequest) -> ForkPoint:
        client, run, part = self._client, request.run, request.run_id
        if request.message is not None:
            return await point_at_message(client, run, part, request.message)
        if request.at is not None:
            return await point_at(client, run, part, request.at)
        return await point_of_failure(client, run, part)

    @activity.defn(name=FORK_RUN)
    async def fork_run(self, request: ForkRequest) -> ForkResult:
        """Return the point, or why there is none; raise only if a retry may help."""
        try:
            async with heartbeating():
                origin = await first_of(self._client, request.run, request.run_id)
                if origin.plan is not None and not self._policy.accepts(origin.run, origin.plan):
                    return ForkResult(refused=ADVICE)
                point = await self._point(request)
        except Unanswered:
            raise
        except CommandError as error:
            return ForkResult(refused=str(error))
        return ForkResult(
            plan=point.plan,
            carried=point.carried,
            at=point.at,
            decisions_root=self._policy.decisions_root,
        )
