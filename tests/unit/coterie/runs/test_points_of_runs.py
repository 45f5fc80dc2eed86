"""Where another run can continue: at a visit or message of a run, its parts or its origin."""

import pytest
from temporalio.client import Client, WorkflowHistory

from coterie.activities.contracts import FORK_RUN, ForkResult
from coterie.control.fork_point import first_of, point_at, point_at_message, point_of_failure
from coterie.failures import CommandError
from coterie.runs.histories.history_events import started
from coterie.storage.histories import read_history
from coterie.storage.wire import data_converter
from tests.replay.record import HISTORIES
from tests.support.servers.recorded_client import Recorded, client_of


def history(name: str, run: str = "run") -> WorkflowHistory:
    return WorkflowHistory(run, list(read_history(HISTORIES / f"{name}.json").events))


def session_parts(run: str = "run") -> Recorded:
    """A session of five messages, which continued as new after the fourth."""
    latest = history("session.0.1.0.link2", run)
    started = latest.events[0].workflow_execution_started_event_attributes
    earlier = {started.continued_execution_run_id: history("session.0.1.0", run)}
    return Recorded([latest], earlier)


async def session() -> Client:
    return await client_of(session_parts())


async def one(name: str) -> Client:
    return await client_of(Recorded([history(f"{name}.0.1.0")]))


FORK = "forked.0.1.0"


def origin_of(fork: WorkflowHistory) -> str:
    given = started(fork).input.fork
    assert given is not None
    return given.run


def forked(at: str | None) -> WorkflowHistory:
    """A run that was forked there; None: nobody has found out yet where it continues."""
    fork = history(FORK)
    calls: set[int] = set()
    for index, event in enumerate(fork.events):
        if event.activity_task_scheduled_event_attributes.activity_type.name == FORK_RUN:
            calls.add(event.event_id)
            if at is None:
                return WorkflowHistory("run", fork.events[: index + 1])
        done = event.activity_task_completed_event_attributes
        if done.scheduled_event_id in calls:
            converter = data_converter.payload_converter
            found = converter.from_payload(done.result.payloads[0], ForkResult)
            (changed,) = converter.to_payloads([found.model_copy(update={"at": at})])
            done.result.payloads[0].CopyFrom(changed)
    return fork


async def fork_at(at: str | None, origin: str = "review_loop") -> Client:
    fork = forked(at)
    if origin != "session":
        return await client_of(Recorded([fork, history(f"{origin}.0.1.0", origin_of(fork))]))
    parts = session_parts(origin_of(fork))
    return await client_of(Recorded([fork, *parts.histories.values()], parts.earlier))


@pytest.mark.parametrize("visit", ["listen#5", "listen#1", "answer#4"])
async def test_a_visit_is_found_in_any_part_of_a_run(visit: str) -> None:
    assert (await point_at(await session(), "run", None, visit)).at == visit


async def test_a_visit_that_was_not_made_is_refused_with_all_that_were() -> None:
    with pytest.raises(CommandError) as refused:
        await point_at(await session(), "run", None, "answer#5")
    text = str(refused.value)
    assert "run 'run' has no visit 'answer#5'" in text
    assert [name for name in ("listen#1", "answer#4", "listen#5") if name not in text] == []


@pytest.mark.parametrize(("visit", "around"), [("left#1", "spread#1"), ("repair#1", "spread#1")])
async def test_a_visit_in_a_branch_is_refused_with_the_one_around_it(
    visit: str, around: str
) -> None:
    with pytest.raises(CommandError, match=f"fork at the visit around it: {around}"):
        await point_at(await one("fan_out"), "run", None, visit)
    assert (await point_at(await one("fan_out"), "run", None, "gather#1")).at == "gather#1"


@pytest.mark.parametrize(
    ("origin", "at", "visit", "found"),
    [
        ("review_loop", "fix#1", "review#1", True),
        ("review_loop", "fix#1", "fix#1", True),
        ("review_loop", "fix#1/change", "fix#1", True),
        ("review_loop", "fix#1", "review#2", False),
        ("review_loop", "fix#1", "sign#1", False),
        ("review_loop", "sign#1", "review#2", True),
        ("review_loop", "elsewhere#1", "review#1", False),
        ("review_loop", None, "sign#1", True),
        ("fan_out", "spread#1", "left#1", False),
        ("session", "listen#3", "answer#2", True),
        ("session", "listen#3", "answer#3", False),
        ("session", "listen#3", "listen#5", False),
        ("session", "listen#5", "answer#3", True),
    ],
)
async def test_a_fork_has_the_visits_of_its_origin_up_to_where_it_began(
    origin: str, at: str | None, visit: str, found: bool
) -> None:
    client = await fork_at(at, origin)
    if found:
        assert (await point_at(client, "run", None, visit)).at == visit
    else:
        with pytest.raises(CommandError, match="has no visit"):
            await point_at(client, "run", None, visit)


@pytest.mark.parametrize("number", [1, 4, 5])
async def test_a_session_continues_at_any_message_that_it_waited_for(number: int) -> None:
    point = await point_at_message(await session(), "run", None, number)
    assert point.at.startswith(f"listen#{number}/")


@pytest.mark.parametrize(
    ("number", "why"),
    [
        (6, "never waited for message 6; it has waited for messages 1 to 5"),
        (0, "never waited for message 0; it has waited for messages 1 to 5"),
    ],
)
async def test_a_session_never_waited_for_other_messages(number: int, why: str) -> None:
    with pytest.raises(CommandError, match=why):
        await point_at_message(await session(), "run", None, number)


async def test_a_run_without_messages_never_waited_for_one() -> None:
    with pytest.raises(CommandError, match=r"never waited for message 1$"):
        await point_at_message(await one("blocks"), "run", None, 1)


async def test_the_first_of_a_run_is_itself_or_that_from_which_it_was_forked() -> None:
    first = await first_of(await fork_at("fix#1"), "run", None)
    assert first.run == origin_of(history(FORK))
    origin = await first_of(await one("blocks"), "run", None)
    assert (origin.run, origin.plan) == ("run", started(history("blocks.0.1.0")).input.plan)


async def test_a_run_that_no_step_failed_continues_at_its_latest_visit() -> None:
    assert (await point_of_failure(await one("callers_pay"), "run", None)).at == "work#1"
