"""Exports of real runs: a fork brings its origin, a reset what it replaced."""

from datetime import UTC, datetime, timedelta

from temporalio.api.common.v1 import WorkflowExecution
from temporalio.api.workflowservice.v1 import ResetWorkflowExecutionRequest

from coterie.audit.audit_chain import checked_export
from coterie.audit.audit_entries import ExportOpened, MessageSent, PartEnded, PartStarted
from coterie.audit.audit_exports import export_of_run, sealed, server_differences
from coterie.signing.key_files import generate
from coterie.signing.signers import issue
from tests.support.gateway import ALL, begun, client_of, described, waiting
from tests.support.project import Project

NOW = datetime.now(UTC)
ROOT = generate("root")
GATEWAY = issue(ROOT, "gateway", "desk", life=timedelta(hours=1), now=NOW)


async def test_a_fork_brings_its_origin_and_equals_the_server(app: object, served: Project) -> None:
    origin = await begun(app, "chore")
    await described(app, origin, "completed")
    async with client_of(app, ALL) as http:
        forked = await http.post(f"/v1/runs/{origin}/fork", json={"at": "only#1", "why": "again"})
        fork = forked.json()["run"]
    await described(app, fork, "completed")
    client = await served.client()
    entries = await export_of_run(client, fork)
    starts = [entry for entry in entries if isinstance(entry, PartStarted)]
    assert [(one.run, one.forked_from, one.why) for one in starts] == [
        (origin, "", ""),
        (fork, origin, "again"),
    ]
    assert all(one.sender is not None and one.sender.subject == "local" for one in starts)
    checked = checked_export(sealed(entries, GATEWAY, NOW), [ROOT.public])
    assert checked.problems == ()
    assert await server_differences(client, checked) == []


async def test_a_reset_keeps_what_it_replaced(app: object, served: Project) -> None:
    run = await begun(app, "offer", amount=3)
    asked = (await waiting(app, run))["request"]
    async with client_of(app, ALL) as http:
        decision = {"request": asked["id"], "decision": "approve", "digest": asked["digest"]}
        await http.post(f"/v1/runs/{run}/decisions", json={**decision, "comment": "mistaken"})
        await http.post(f"/v1/runs/{run}/pause", json={})
        before = (await http.get(f"/v1/runs/{run}")).json()["run_id"]
        client = await served.client()
        await client.workflow_service.reset_workflow_execution(
            ResetWorkflowExecutionRequest(
                namespace=client.namespace,
                workflow_execution=WorkflowExecution(workflow_id=run, run_id=before),
                reason="a test",
                request_id="reset",
                workflow_task_finish_event_id=4,
            )
        )
        await waiting(app, run)
        entries = await export_of_run(client, run)
        opened = entries[0]
        assert isinstance(opened, ExportOpened)
        replaced, now = opened.parts
        assert (replaced.run_id, replaced.superseded_by) == (before, now.run_id)
        assert "reset" in [entry.state for entry in entries if isinstance(entry, PartEnded)]
        pauses = [entry for entry in entries if isinstance(entry, MessageSent)]
        assert "pause" in [entry.name for entry in pauses]
        checked = checked_export(sealed(entries, GATEWAY, NOW), [ROOT.public])
        assert await server_differences(client, checked) == []
        await http.post(f"/v1/runs/{run}/cancel", json={})
