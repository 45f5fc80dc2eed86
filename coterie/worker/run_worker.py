"""The worker of one run: it serves the run's own task queue with the run's own configuration."""

from contextlib import AbstractAsyncContextManager
from datetime import timedelta

from temporalio.client import Client
from temporalio.worker import Worker

from coterie.runs.records import RecordedRuns, RunRecord
from coterie.settings import Settings
from coterie.worker.plan_policy import PlanPolicy
from coterie.worker.workers import ServingTerms, working

GRACE = timedelta(seconds=10)
"""Time for calls in progress after Ctrl-C; a longer model call is repeated later."""

_STICKY = timedelta(seconds=2)
"""This worker has one run: after a kill, a resumed run need not wait long for this worker's cache.
"""


def run_worker(
    client: Client,
    settings: Settings,
    record: RunRecord,
    *,
    grace: timedelta = GRACE,
    sticky: timedelta = _STICKY,
) -> AbstractAsyncContextManager[Worker]:
    """Serve one run within the block.

    Args:
        client: With our data converter.
        settings: Environment, for keys and commands.
        record: What the worker may touch, and where the run is queued.
        grace: Time for calls in progress after the block.
        sticky: How long the run waits for this worker after it was killed.
    """
    policy = PlanPolicy(
        accept_plans=record.trusted.accept_plans,
        own_runs=RecordedRuns(settings),
        decisions_root=record.trusted.decisions_root,
    )
    terms = ServingTerms(record.task_queue, grace, sticky)
    return working(client, settings, record.trusted, terms, policy)
