"""What others have started with the id of the registry or the audit run is neither of them."""

from dataclasses import replace

import pytest
from temporalio.client import Client

from coterie.audit.audit_exports import export_of_gateway
from coterie.audit.sent_records import audit_record, audit_run, send_batch, send_record
from coterie.deployed.registry import Registry, registry_of
from coterie.deployed.registry_changes import ChangeRefused, change_registry, serving_registry
from coterie.failures import CommandError
from coterie.runs.own_workflows import ForeignWorkflow
from coterie.settings import load
from coterie.workflows.core.audit_messages import AuditBatch
from coterie.workflows.core.registry_messages import RegistryState, SwitchInput
from tests.support.project import Project


async def squatted(client: Client, id: str) -> None:
    await client.start_workflow("TeamWorkflow", id=id, task_queue="nobody-serves-it")


async def test_an_open_run_with_the_id_of_the_registry_is_named_and_a_closed_one_counts_as_none(
    served: Project,
) -> None:
    client, queue = await served.client(), "squatted"
    registry, id = Registry(client, queue), registry_of(queue)
    await squatted(client, id)
    with pytest.raises(ForeignWorkflow, match=f"an open TeamWorkflow has it.*coterie cancel {id}"):
        await registry.version("parcel")
    await client.get_workflow_handle(id).terminate()
    assert await registry.version("parcel") is None
    assert await registry.state() == RegistryState()
    switch = SwitchInput(team="parcel", expected=0, to=1, by="ann")
    async with serving_registry(registry):
        with pytest.raises(ChangeRefused):  # by the registry, which this has started
            await change_registry(registry, switch)
    await client.get_workflow_handle(id).terminate()


async def test_the_audit_log_goes_to_no_other_run(
    served: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    client = await served.client()
    settings = replace(load(served.environment, served.folder), task_queue="squatted")
    id, batch = audit_run(settings), AuditBatch(source="here", records=(audit_record("exported"),))
    await squatted(client, id)
    with pytest.raises(ForeignWorkflow, match=f"coterie cancel {id}"):
        await send_batch(client, settings, batch)
    await send_record(client, settings, "exported", "x")
    assert "the audit log has no record of this" in capsys.readouterr().err
    foreign = client.get_workflow_handle(id)
    assert (await foreign.describe()).history_length == 2, "it got no signal"
    await foreign.terminate()
    with pytest.raises(CommandError, match="there is no audit run"):
        await export_of_gateway(client, id)
    await send_batch(client, settings, batch)
    entries = await export_of_gateway(client, id)
    assert [type(entry).__name__ for entry in entries] == [
        "ExportOpened",
        "PartStarted",
        "GatewayNoted",
    ]
    await client.get_workflow_handle(id).terminate()
