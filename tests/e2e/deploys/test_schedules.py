"""Schedules of documents on the real server: made, replaced, kept paused, deleted, rolled back."""

import asyncio
import json
from datetime import timedelta
from typing import cast

import pytest
import yaml
from pydantic import JsonValue
from temporalio.client import (
    Client,
    Schedule,
    ScheduleActionExecutionStartWorkflow,
    ScheduleActionStartWorkflow,
    ScheduleHandle,
    ScheduleSpec,
    ScheduleUpdate,
    ScheduleUpdateInput,
)

from coterie.deployed.declared_schedules import DeclaredSchedule
from coterie.deployed.registry import Registry
from coterie.deployed.registry_changes import ChangeRefused
from coterie.deployed.schedule_changes import (
    Ownership,
    ScheduleChange,
    apply_schedule,
    find_schedule,
    schedule_changes,
)
from coterie.dsl.model.sections.schedule_trigger import ScheduleSection
from coterie.failures import ExitCode
from coterie.runs.histories.history_events import started
from coterie.runs.run_client import Run
from coterie.workflows.core.messages import TeamInput
from tests.e2e.deploys.conftest import done
from tests.support.cli import sentence
from tests.support.project import Project

BERLIN: dict[str, JsonValue] = {"time_zone": "Europe/Berlin", "context": {"weight": 3}}
EARLY: dict[str, JsonValue] = {"cron": "30 4 * * *", **BERLIN}
LATE: dict[str, JsonValue] = {"cron": "45 5 * * *", **BERLIN}
OFTEN: dict[str, JsonValue] = {"every": "6h", "context": {"weight": 1}, "jitter": "5m"}


def written(project: Project, name: str, **schedules: JsonValue) -> str:
    """A team with these schedules, as a file."""
    document = {
        "orchestration": {
            "entry_team": "only",
            "context": {"weight": {"type": "number"}},
            "output": {"price": "{{ context.weight * 2 }}"},
            "teams": {
                "only": {"tasks": [{"name": "mark", "type": "set", "values": {"weight": 4}}]}
            },
        },
        "triggers": {key: {"schedule": value} for key, value in schedules.items()},
    }
    file = project.folder / "nights" / f"{name}.yml"
    file.parent.mkdir(exist_ok=True)
    file.write_text(yaml.safe_dump(document))
    return str(file.relative_to(project.folder))


def handle_of(client: Client, team: str, name: str) -> ScheduleHandle:
    return client.get_schedule_handle(f"schedule/coterie/{team}/{name}")


async def hour_of(client: Client, team: str, name: str) -> list[int]:
    described = await handle_of(client, team, name).describe()
    return [one.hour[0].start for one in described.schedule.spec.calendars]


async def deploy(project: Project, *words: str) -> str:
    return await asyncio.to_thread(done, project, "deploy", *words)


async def test_schedules_follow_the_file_and_keep_what_an_operator_did(served: Project) -> None:
    client = await served.client()
    file = written(served, "nightly", night=EARLY, often=OFTEN)
    shown = await deploy(served, file, "--plan")
    assert "+ schedule night create: 30 4 * * * in Europe/Berlin" in shown
    assert shown.count(":30:00 CE") == 10, "the next ten times"
    assert "schedule often created" in await deploy(served, file)
    assert await deploy(served, file) == "nightly@1 unchanged\n"
    before = (await handle_of(client, "nightly", "often").describe()).info.last_updated_at
    await handle_of(client, "nightly", "night").pause(note="holiday")
    written(served, "nightly", night=LATE, often=OFTEN)
    shown = await deploy(served, file, "--plan")
    assert "~ schedule night replace: 45 5 * * *" in shown
    assert "stays paused: holiday" in shown
    replaced = await deploy(served, file)
    assert replaced == "nightly@2 deployed\n  schedule night replaced\n"
    described = await handle_of(client, "nightly", "night").describe()
    assert await hour_of(client, "nightly", "night") == [5], "one calendar: the old one is gone"
    assert described.schedule.state.paused
    assert described.schedule.state.note == "holiday"
    unchanged = await handle_of(client, "nightly", "often").describe()
    assert unchanged.info.last_updated_at == before, "no request"
    written(served, "nightly", night={**LATE, "paused": True})
    await deploy(served, file)
    written(served, "nightly", night=LATE)
    assert "schedule night replaced" in await deploy(served, file), "the file itself resumes it"
    assert not (await handle_of(client, "nightly", "night").describe()).schedule.state.paused
    back = await deploy(served, "--rollback", "nightly@1")
    assert back.splitlines()[1:] == ["  schedule night replaced", "  schedule often created"]
    assert await hour_of(client, "nightly", "night") == [4]
    gone = await deploy(served, "--remove", "nightly")
    assert gone.splitlines()[1:] == ["  schedule night deleted", "  schedule often deleted"]


async def test_a_scheduled_run_starts_the_current_version_and_names_who_deployed(
    served: Project,
) -> None:
    client = await served.client()
    await deploy(served, written(served, "fired", night=EARLY))
    await handle_of(client, "fired", "night").trigger()
    run = await first_run(client, "fired")
    result = await asyncio.to_thread(done, served, "result", run, "--json")
    assert json.loads(result)["output"] == {"price": 6}
    first = started(await Run(client, run).history())
    assert first.sender is not None
    assert (first.sender.door, first.sender.method) == ("schedule", "login")
    assert [row["team"] for row in rows(served) if row["run"] == run] == ["fired"]
    await deploy(served, "--remove", "fired")


def rows(project: Project) -> list[dict[str, str]]:
    return cast("list[dict[str, str]]", json.loads(done(project, "runs", "--json")))


async def first_run(client: Client, team: str) -> str:
    """The id of the run that a trigger has started."""
    handle = handle_of(client, team, "night")
    async with asyncio.timeout(60):
        while True:
            for one in (await handle.describe()).info.recent_actions:
                assert isinstance(one.action, ScheduleActionExecutionStartWorkflow)
                return one.action.workflow_id
            await asyncio.sleep(0.1)  # between two looks


async def test_a_schedule_of_somebody_else_is_left_alone(served: Project) -> None:
    client = await served.client()
    action = ScheduleActionStartWorkflow("Theirs", id="theirs", task_queue="theirs")
    theirs = await client.create_schedule(
        "schedule/coterie/foreign/night", Schedule(action=action, spec=ScheduleSpec())
    )
    file = written(served, "foreign", night=EARLY)
    refused = await asyncio.to_thread(served.coterie, "deploy", file)
    assert refused.returncode == ExitCode.CALL_WRONG
    assert "was not made by `coterie deploy` for this team" in sentence(refused)
    kept = (await theirs.describe()).schedule.action
    assert isinstance(kept, ScheduleActionStartWorkflow)
    assert kept.workflow == "Theirs"
    assert "has not been deployed" in sentence(
        await asyncio.to_thread(served.coterie, "versions", "foreign")
    )
    await theirs.delete()


def action_of(given: ScheduleUpdateInput) -> ScheduleActionStartWorkflow:
    action = given.description.schedule.action
    assert isinstance(action, ScheduleActionStartWorkflow)
    return action


def another_team(given: ScheduleUpdateInput) -> ScheduleUpdate:
    action_of(given).args = [TeamInput(team="other", context={"weight": 9})]
    return ScheduleUpdate(given.description.schedule)


def another_type(given: ScheduleUpdateInput) -> ScheduleUpdate:
    action_of(given).workflow = "Theirs"
    return ScheduleUpdate(given.description.schedule)


def another_id(given: ScheduleUpdateInput) -> ScheduleUpdate:
    action_of(given).id = "theirs"
    return ScheduleUpdate(given.description.schedule)


def another_limit(given: ScheduleUpdateInput) -> ScheduleUpdate:
    action_of(given).execution_timeout = timedelta(seconds=1)
    return ScheduleUpdate(given.description.schedule)


async def test_what_somebody_edits_on_the_server_is_put_back(served: Project) -> None:
    client = await served.client()
    file = written(served, "edited", night=EARLY)
    await deploy(served, file)

    def at_noon(given: ScheduleUpdateInput) -> ScheduleUpdate:
        schedule = given.description.schedule
        schedule.spec = ScheduleSpec(cron_expressions=["0 12 * * *"])
        return ScheduleUpdate(schedule)

    await handle_of(client, "edited", "night").update(at_noon)
    assert await deploy(served, file) == "edited@1 unchanged\n  schedule night replaced\n"
    assert await hour_of(client, "edited", "night") == [4]
    for edit in (another_team, another_type, another_id, another_limit):
        await handle_of(client, "edited", "night").update(edit)
        shown = await asyncio.to_thread(served.coterie, "deploy", file, "--plan", "--exit-code")
        assert "schedule night replace" in shown.stdout, edit.__name__
        assert await deploy(served, file) == "edited@1 unchanged\n  schedule night replaced\n"
        assert await deploy(served, file) == "edited@1 unchanged\n"
    await handle_of(client, "edited", "night").delete()
    assert "schedule night created" in await deploy(served, file)
    await deploy(served, "--remove", "edited")


async def test_a_deployment_that_is_overtaken_leaves_the_later_schedule(served: Project) -> None:
    """The later one comes between the look and the update: its schedule has another token."""
    client = await served.client()
    owner = Ownership(client, "coterie", "overtaken")
    sections = {hour: ScheduleSection(cron=f"0 {hour} * * *") for hour in (1, 2, 3)}

    async def change(hour: int) -> ScheduleChange:
        (found,) = await schedule_changes(owner, {"night": sections[hour]}, ())
        return found

    async def is_current() -> bool:
        return True

    await apply_schedule(owner, await change(1), is_current)
    mine, later = await change(2), await change(3)
    looks = 0

    async def is_overtaken() -> bool:
        nonlocal looks
        looks += 1
        if looks == 1:  # after my look: my token is old now, and the server says OK to it
            await apply_schedule(owner, later, is_current)
            return True
        return False

    with pytest.raises(ChangeRefused, match="another deployment is going on"):
        await apply_schedule(owner, mine, is_overtaken)
    assert looks == 2
    assert await hour_of(client, "overtaken", "night") == [3]
    found = await find_schedule(owner, mine.id)
    wanted = DeclaredSchedule("coterie", "overtaken", "night", sections[3])
    assert found is not None
    assert found.declared == wanted.declared
    await handle_of(client, "overtaken", "night").delete()


async def test_a_refused_deployment_changes_no_schedule(served: Project) -> None:
    """Of a team whose document has a problem that only the date or the zone shows."""
    client = await served.client()
    file = written(served, "zoneless", night={**EARLY, "time_zone": "Mars/Base"})
    refused = await asyncio.to_thread(served.coterie, "deploy", file)
    assert refused.returncode == ExitCode.CALL_WRONG
    assert "there is no time zone 'Mars/Base' [E112]" in sentence(refused)
    assert "zoneless" not in (await Registry(client, "coterie").state()).teams
