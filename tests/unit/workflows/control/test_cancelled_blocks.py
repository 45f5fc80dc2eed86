"""A cancelled run still runs the last steps of its `try` blocks, and each of them once."""

import asyncio

import pytest

from coterie.activities.contracts import AgentRequest, AgentResponse
from coterie.workflows.core.scope import Call
from coterie.workflows.interpreter import run
from tests.support.one_team import agent, work
from tests.support.simulation.stopping import StoppingScope, World, fresh


class CancelledScope(StoppingScope):
    """A run that a person cancels while the agent `slow` works."""

    cancels: str | None = None
    ends_at_once = True
    """Whether the cancellation reaches the agent before its answer does."""

    def cancelled(self) -> str | None:
        return self.cancels

    async def run_agent(self, request: AgentRequest, call: Call) -> AgentResponse:
        response = await super().run_agent(request, call)
        if request.task == "slow" and self.cancels is None:
            self.cancels = "by ann"
            if self.ends_at_once:
                raise asyncio.CancelledError
        return response


@pytest.mark.parametrize(
    ("steps", "last", "called"),
    [
        ([agent("slow"), agent("never")], [agent("last")], ["slow", "last"]),
        ([agent("slow")], [agent("fails_first"), agent("last")], ["slow", "fails_first", "last"]),
        ([agent("first")], [agent("slow"), agent("last")], ["first", "slow", "slow", "last"]),
        ([agent("slow"), agent("never")], [], ["slow"]),
    ],
    ids=["in its steps", "with two last steps", "in its last steps", "without last steps"],
)
async def test_a_block_that_is_cancelled_still_runs_its_last_steps(
    steps: list[str], last: list[str], called: list[str]
) -> None:
    text = (
        f"- {{name: careful, type: try, steps: [{', '.join(steps)}], finally: [{', '.join(last)}]}}"
    )
    if not last:
        text = text.replace("finally: []", f"catch: [{{steps: [{agent('caught')}]}}]")
    plan, world = work(text), World(lambda _: {"n": 1})
    scope = CancelledScope(plan, fresh(plan, {}), world, None)
    with pytest.raises(asyncio.CancelledError):
        await run(scope)
    assert [id.rpartition(".")[2] for id in world.calls] == called


async def test_a_block_that_was_done_when_the_run_was_cancelled_ends_with_its_last_steps() -> None:
    text = f"- {{name: careful, type: try, steps: [{agent('slow')}], finally: [{agent('last')}]}}"
    plan, world = work(text), World(lambda _: {"n": 1})
    scope = CancelledScope(plan, fresh(plan, {}), world, None)
    scope.ends_at_once = False
    await run(scope)
    assert [id.rpartition(".")[2] for id in world.calls] == ["slow", "last"]
    assert scope.state.progress.tries == {}
