"""A worker that was killed holds a workflow task until that times out; then another answers."""

from temporalio.api.taskqueue.v1 import TaskQueue
from temporalio.api.workflowservice.v1 import PollWorkflowTaskQueueRequest

from coterie.runs.run_client import Run
from tests.support.project import Project


async def test_a_run_answers_the_process_that_serves_it_after_a_worker_died_with_its_task(
    quiet_desk: Project,
) -> None:
    assert quiet_desk.coterie("server").returncode == 0
    started = quiet_desk.coterie("start", "chore", "--id", "held")
    assert started.returncode == 0, started.stderr
    client = await quiet_desk.client()
    held = await client.workflow_service.poll_workflow_task_queue(
        PollWorkflowTaskQueueRequest(
            namespace="default", task_queue=TaskQueue(name="coterie"), identity="killed"
        )
    )
    assert held.workflow_execution.workflow_id == "held"
    quiet_desk.begin("worker")
    assert (await Run(client, "held", served_here=True).status()).state in ("running", "done")
