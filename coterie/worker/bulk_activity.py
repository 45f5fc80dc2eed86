"""Act on the runs of a bulk action, on the worker."""

from contextlib import nullcontext

from temporalio import activity
from temporalio.client import Client

from coterie.activities.heartbeats import heartbeating
from coterie.control.bulk_steps import act_on_run
from coterie.server.message_senders import sent_by
from coterie.settings import Settings
from coterie.workflows.core.bulk_messages import ACT_ON_RUN, BulkOutcome, BulkStep


class BulkActivities:
    """Reaches runs of this worker's own namespace."""

    def __init__(self, client: Client, settings: Settings) -> None:
        self._client = client
        self._settings = settings

    @activity.defn(name=ACT_ON_RUN)
    async def act_on_run(self, step: BulkStep) -> BulkOutcome:
        """Act on one run; raise only if a retry may help."""
        is_repeated = activity.info().attempt > 1
        sending = nullcontext() if step.sender is None else sent_by(step.sender)
        async with heartbeating():
            with sending:
                return await act_on_run(self._settings, self._client, step, is_repeated=is_repeated)
