"""Branches that nobody needs any more: how long they have to clean up, and what they raise."""

import asyncio
from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any

import pytest
from temporalio import workflow

from coterie.dsl.errors import TeamFailed
from coterie.workflows.core.scope import Interrupted, Job
from coterie.workflows.temporal.branches import (
    Branches,
    BranchRunner,
    failures,
    is_dropped,
    left_of,
    stop_if_abandoned,
)
from coterie.workflows.temporal.pacer import Pacer


class Engine:
    """Temporal's side of a run in which nothing but coroutines happens."""

    reason: str | None = None

    async def wait_condition(self, ready: Callable[[], bool], **_: Any) -> None:
        while not ready():  # noqa: ASYNC110 - the condition belongs to the workflow
            await asyncio.sleep(0)


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> Engine:
    there = Engine()
    info = SimpleNamespace(get_current_history_length=lambda: 1)
    monkeypatch.setattr(workflow, "info", lambda: info)
    monkeypatch.setattr(workflow, "wait", asyncio.wait)
    monkeypatch.setattr(workflow, "wait_condition", there.wait_condition)
    monkeypatch.setattr(workflow, "cancellation_reason", lambda: there.reason)
    return there


class Cleanup:
    """A branch that waits, and whose cleanup takes some rounds of the event loop."""

    def __init__(self, rounds: int) -> None:
        self.rounds = rounds
        self.seen: list[str] = []

    async def job(self) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            self.seen.append("begun")
            try:
                for _ in range(self.rounds):
                    await asyncio.sleep(0)
                self.seen.append("ended")
            except asyncio.CancelledError:
                self.seen.append("cut off")
                raise


async def quick() -> None:
    pass


def runner(seconds: float = 0) -> BranchRunner:
    return BranchRunner(Branches(100), Pacer(), lambda: seconds)


async def first_of(runs: BranchRunner, jobs: Mapping[str, Job]) -> frozenset[str]:
    async with asyncio.timeout(60):
        found = await runs.run(jobs, lambda done: len(done) == 1, None, None, None, frozenset())
    return frozenset(found)


async def test_a_branch_that_is_not_needed_cleans_up_before_the_block_ends(
    engine: Engine,
) -> None:
    late, runs = Cleanup(20), runner()
    assert await first_of(runs, {"quick": quick, "late": late.job}) == {"quick"}
    assert late.seen == ["begun", "ended"]
    assert not runs.is_stopping


@pytest.mark.parametrize(
    ("seconds", "reason", "rounds", "seen"),
    [
        (0, "enough", 10**9, ["begun", "cut off"]),
        (0.01, "enough", 10**9, ["begun", "cut off"]),
        (30, "enough", 50, ["begun", "ended"]),
        (0, None, 50, ["begun", "ended"]),
    ],
    ids=["no time", "little time", "in time", "only this block is cancelled"],
)
async def test_a_cancelled_run_cuts_a_cleanup_off_when_its_time_is_up(
    engine: Engine, seconds: float, reason: str | None, rounds: int, seen: list[str]
) -> None:
    late, runs = Cleanup(rounds), runner(seconds)
    block = asyncio.create_task(first_of(runs, {"quick": quick, "late": late.job}))
    await engine.wait_condition(lambda: runs.is_stopping)
    engine.reason = reason
    block.cancel()
    with pytest.raises(asyncio.CancelledError):
        await block
    assert late.seen == seen
    assert not runs.is_stopping


@pytest.mark.parametrize(("reason", "raises"), [(None, True), ("enough", False)])
async def test_a_cleanup_that_fails_fails_the_block_unless_the_run_is_cancelled(
    engine: Engine, reason: str | None, raises: bool
) -> None:
    async def failing() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            engine.reason = reason
            raise TeamFailed("no cleanup")

    jobs: dict[str, Job] = {"quick": quick, "late": failing}
    if raises:
        with pytest.raises(TeamFailed):
            await first_of(runner(), jobs)
    else:
        assert await first_of(runner(), jobs) == {"quick"}


async def _interrupted() -> bool:
    raise Interrupted(3.5)


async def _over() -> bool:
    return False


async def test_the_time_that_is_left_of_a_block_is_that_of_its_timer() -> None:
    assert await left_of(None) is None
    assert await left_of(asyncio.create_task(_interrupted())) == 3.5
    assert await left_of(asyncio.create_task(_over())) == 0


@pytest.mark.parametrize(
    ("failure", "error", "cancelled", "expected"),
    [
        (ValueError(), TeamFailed("no"), "enough", False),
        (TeamFailed("no"), None, None, False),
        (TeamFailed("no"), None, "enough", True),
        (TeamFailed("no"), None, "", True),
        (TeamFailed("no"), TeamFailed("first"), None, True),
        (TeamFailed("no"), asyncio.CancelledError(), None, False),
    ],
)
def test_an_expected_failure_is_dropped_to_what_ended_the_block_before(
    failure: BaseException, error: BaseException | None, cancelled: str | None, expected: bool
) -> None:
    assert is_dropped(failure, error, cancelled) is expected


async def _fails() -> None:
    raise TeamFailed("no")


async def test_only_what_stopped_branches_failed_with_counts_as_their_failure() -> None:
    waits, fails = asyncio.create_task(asyncio.Event().wait()), asyncio.create_task(_fails())
    done, stops = asyncio.create_task(quick()), asyncio.create_task(_interrupted())
    tasks = [waits, stops, done, fails]
    waits.cancel()
    await asyncio.wait(tasks)
    assert [str(one) for one in failures(tasks)] == ["no"]


async def test_an_abandoned_block_stops_each_of_its_branches_at_its_location(
    engine: Engine,
) -> None:
    runs, seen = runner(), list[str]()

    async def back() -> None:
        assert runs.is_stopping
        try:
            stop_if_abandoned()
        finally:
            await asyncio.sleep(0)
            stop_if_abandoned()
            seen.append("cleaned up")

    with pytest.raises(asyncio.CancelledError):
        await runs.abandon([back, back])
    assert seen == ["cleaned up", "cleaned up"]
    assert not runs.is_stopping
    stop_if_abandoned()


async def test_an_abandoned_branch_whose_cleanup_fails_fails_its_block(engine: Engine) -> None:
    runs = runner()
    with pytest.raises(TeamFailed):
        await runs.abandon([_fails])
    assert not runs.is_stopping
