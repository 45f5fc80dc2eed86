"""Bulk actions of the gateway and of the commands over a real server, run by run."""

import asyncio
import re

from temporalio.api.enums.v1 import EventType
from temporalio.worker import Replayer, UnsandboxedWorkflowRunner

from coterie.control.bulk_steps import act_on_run
from coterie.failures import ExitCode
from coterie.gateway.identity.identity import Role
from coterie.runs.run_client import Run
from coterie.settings import load
from coterie.storage.wire import data_converter
from coterie.workflows.bulk_action import BulkActionWorkflow
from coterie.workflows.core.bulk_messages import BulkAction, BulkItem, BulkStep
from coterie.workflows.core.messages import DecideInput, RetryInput
from tests.support.gateway import (
    ALL,
    begun,
    client_of,
    described,
    finished,
    person,
    waiting,
)
from tests.support.project import Project


async def test_a_bulk_acts_on_what_was_previewed_and_names_what_it_skips(
    app: object, served: Project
) -> None:
    waiting_runs = [await begun(app, "offer", amount=number) for number in range(3)]
    chore = await begun(app, "chore")
    await described(app, chore, "completed")
    ann = person("ann", Role.OPERATOR, Role.APPROVER, teams="offer")
    async with client_of(app, ann) as http:
        preview = (await http.get("/v1/bulk", params={"action": "cancel"})).json()
        chosen = [run for run in preview["runs"] if run["run"] in waiting_runs]
        assert len(chosen) == 3, preview
        picked = [{key: run[key] for key in ("run", "run_id", "is_open")} for run in chosen]
        async with client_of(app, ALL) as other:
            await waiting(app, waiting_runs[0])
            await other.post(f"/v1/runs/{waiting_runs[0]}/cancel")
        await described(app, waiting_runs[0], "cancelled")
        foreign = {"run": chore, "run_id": "x", "is_open": False}
        asked = {"action": "cancel", "runs": [*picked, foreign], "why": "a clean-up"}
        started = (await http.post("/v1/bulk", json=asked)).json()
        assert [refused["run"] for refused in started["refused"]] == [chore]
        outcomes = await finished(app, started["bulk"])
        assert outcomes[waiting_runs[0]]["effect"] == "skipped"
        assert outcomes[waiting_runs[0]]["because"] == "it has ended since"
        for run in waiting_runs[1:]:
            assert outcomes[run]["effect"] == "done"
            assert "ann (oidc)" in (await described(app, run, "cancelled"))["because"]
        history = await Run(await served.client(), started["bulk"]).history()
        replayer = Replayer(
            workflows=[BulkActionWorkflow],
            data_converter=data_converter,
            workflow_runner=UnsandboxedWorkflowRunner(),
        )
        await replayer.replay_workflow(history)


async def test_a_bulk_decides_requests_in_the_verified_name(app: object) -> None:
    runs = [await begun(app, "offer", amount=number) for number in range(2)]
    requests = [(await waiting(app, run))["request"] for run in runs]
    async with client_of(app, ALL) as http:
        found = [(await http.get(f"/v1/runs/{run}")).json() for run in runs]
    choices = [
        {
            "run": run,
            "run_id": description["run_id"],
            "is_open": True,
            "request": request["id"],
            "digest": request["digest"],
        }
        for run, request, description in zip(runs, requests, found, strict=True)
    ]
    choices[1]["digest"] = "0" * 64
    asked = {"action": "decide", "decision": "reject", "runs": choices}
    async with client_of(app, person("ben", Role.APPROVER)) as http:
        started = await http.post("/v1/bulk", json=asked)
    outcomes = await finished(app, started.json()["bulk"])
    assert outcomes[runs[0]]["because"] == "rejected", outcomes
    assert outcomes[runs[1]]["effect"] == "refused"
    async with client_of(app, ALL) as http:
        await http.post(f"/v1/runs/{runs[1]}/cancel")


async def test_the_command_retries_every_failed_run_that_matches(
    app: object, served: Project
) -> None:
    run = await begun(app, "failing", topic="tides")
    await described(app, run, "failed")
    command = ("retry", "--failed", "--team", "failing", "--newer-than", "1h")
    refused = await asyncio.to_thread(served.coterie, *command)
    assert refused.returncode == ExitCode.CALL_WRONG
    assert "add --yes" in refused.stderr
    done = await asyncio.to_thread(served.coterie, *command, "--yes")
    assert done.returncode == ExitCode.DONE, done.stderr
    new = re.findall(rf"{run}: continues in (\S+)", done.stdout)
    assert new, done.stdout
    await described(app, new[0], "failed")


async def test_a_command_decides_the_requests_of_every_run_that_matches_or_cancels_them(
    app: object, served: Project
) -> None:
    runs = [await begun(app, "offer", amount=number) for number in range(2)]
    for run in runs:
        await waiting(app, run)
    chosen = ("--waiting", "--team", "offer", "--newer-than", "1h", "--request", "first/*")
    refused = await asyncio.to_thread(served.coterie, "approve", *chosen, "--by", "ann")
    assert "would approve" in refused.stderr
    assert "add --yes" in refused.stderr
    decided = ("approve", *chosen, "--by", "ann", "--yes")
    done = await asyncio.to_thread(served.coterie, *decided)
    assert done.returncode == ExitCode.DONE, done.stderr
    for run in runs:
        assert f"{run} first/sign#1: counted" in done.stdout, done.stdout
        assert f"{run}  first/sign#1" in done.stderr, "it shows what it decides"
    again = await asyncio.to_thread(served.coterie, *decided)
    assert (again.returncode, "ann has approved it already" in again.stderr) == (1, True)
    wrong = await asyncio.to_thread(served.coterie, "cancel", "--open", "--team", "nothing")
    assert (wrong.returncode, wrong.stderr) == (ExitCode.DONE, "no open run matches\n")
    command = ("cancel", "--open", "--team", "offer", "--yes", "--why", "a clean-up")
    done = await asyncio.to_thread(served.coterie, *command, "--by", "cleo")
    assert done.returncode == ExitCode.DONE, done.stderr
    for run in runs:
        assert f"{run}: done" in done.stdout
        assert "by cleo: a clean-up" in (await described(app, run, "cancelled"))["because"]


async def test_a_step_of_a_bulk_that_a_dead_worker_had_done_is_repeated_without_effect(
    app: object, served: Project
) -> None:
    settings, client = load(served.environment, served.folder), await served.client()
    offers = [await begun(app, "offer", amount=number) for number in range(2)]
    failed = await begun(app, "failing", topic="tides")
    await described(app, failed, "failed")
    asked = (await waiting(app, offers[0]))["request"]
    await waiting(app, offers[1])
    decision = DecideInput(id=asked["id"], decision="reject", by="ann", digest=asked["digest"])
    retry = RetryInput(by="ann")
    steps: tuple[tuple[str, BulkAction, EventType.ValueType], ...] = (
        (offers[0], "decide", EventType.EVENT_TYPE_WORKFLOW_EXECUTION_UPDATE_ACCEPTED),
        (offers[1], "cancel", EventType.EVENT_TYPE_WORKFLOW_EXECUTION_CANCEL_REQUESTED),
        (failed, "retry", EventType.EVENT_TYPE_WORKFLOW_EXECUTION_STARTED),
    )
    for number, (run, action, counted) in enumerate(steps):
        found = await Run(client, run).describe()
        item = BulkItem(
            run=run,
            run_id=found.run_id,
            is_open=action != "retry",
            decision=decision if action == "decide" else None,
            retry=retry if action == "retry" else None,
        )
        step = BulkStep(bulk="b", number=number, action=action, item=item)
        first = await act_on_run(settings, client, step, is_repeated=False)
        assert first.effect == "done", first
        if action != "retry":
            await Run(client, run).end()
        again = await act_on_run(settings, client, step, is_repeated=True)
        assert again == first
        history = (await Run(client, first.new_run or run).history()).events
        assert [event.event_type for event in history].count(counted) == 1
