"""Records the history of a bulk action that every later version must replay.

`python -m tests.replay.bulk_history` records it anew.
"""

import asyncio
from datetime import timedelta

from temporalio import activity
from temporalio.exceptions import ApplicationError
from temporalio.testing import WorkflowEnvironment
from temporalio.worker import Worker

from coterie.version import own_version
from coterie.workflows.bulk_action import BulkActionWorkflow
from coterie.workflows.core.bulk_messages import (
    ACT_ON_RUN,
    BulkEffect,
    BulkInput,
    BulkItem,
    BulkOutcome,
    BulkReport,
    BulkStep,
)
from coterie.workflows.core.messages import DecideInput
from coterie.workflows.core.senders import Sender
from tests.replay.numbered_executions import NumberedExecutions
from tests.replay.record import HERE, as_texts
from tests.support.servers.temporal_server import time_skipping

FILE = HERE / "bulk_histories" / f"decide.{own_version()}.json"
SILENT = 7
"""The run that no worker answers for: each attempt fails."""
SLOW = 3
"""The run whose first attempt fails."""
EFFECTS: dict[int, BulkEffect] = {2: "skipped", 5: "refused"}


def bulk_input() -> BulkInput:
    """More runs than it acts on at once; two of the requests are of the same run."""
    items = [
        BulkItem(
            run=f"offer-{min(number, 11)}",
            run_id=f"execution-{number}",
            team="offer",
            is_open=True,
            decision=DecideInput(
                id=f"first/sign#{number + 1}", decision="approve", by="ann", digest="0" * 64
            ),
        )
        for number in range(13)
    ]
    sender = Sender(subject="ann", method="oidc", address="10.0.0.7", door="api")
    return BulkInput(action="decide", items=tuple(items), by="ann", why="as agreed", sender=sender)


@activity.defn(name=ACT_ON_RUN)
async def act_on_run(step: BulkStep) -> BulkOutcome:
    """Act like the worker, on runs that are not there."""
    attempt = activity.info().attempt
    if step.number == SILENT or (step.number == SLOW and attempt == 1):
        raise ApplicationError("no worker answers", type="Unanswered")
    assert step.item.decision is not None
    return BulkOutcome(
        run=step.item.run,
        team=step.item.team,
        request=step.item.decision.id,
        effect=EFFECTS.get(step.number, "done"),
        because="approved",
    )


async def record(env: WorkflowEnvironment) -> str:
    """Return the history as a file of one line."""
    runner = NumberedExecutions()
    async with Worker(
        env.client,
        task_queue="bulk",
        workflows=[BulkActionWorkflow],
        activities=[act_on_run],
        workflow_runner=runner,
        build_id="test",
    ):
        handle = await env.client.start_workflow(
            "BulkActionWorkflow",
            bulk_input(),
            id="bulk-decide-1",
            task_queue="bulk",
            result_type=BulkReport,
            execution_timeout=timedelta(days=1),
        )
        report = await handle.result()
        assert report.is_finished
        return as_texts([await handle.fetch_history()], runner.ids)[0]


async def main() -> None:
    """Record it anew."""
    async with time_skipping() as env:
        text = await record(env)
    FILE.parent.mkdir(exist_ok=True)
    FILE.write_text(text)


if __name__ == "__main__":
    asyncio.run(main())
