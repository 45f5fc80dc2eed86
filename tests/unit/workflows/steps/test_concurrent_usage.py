"""What a step is said to have used is its own, whatever ends beside it meanwhile."""

import asyncio

from coterie.activities.contracts import (
    AgentRequest,
    AgentResponse,
    FunctionRequest,
    FunctionResult,
    TokenUsage,
)
from tests.support.one_team import agent, work
from tests.support.simulation.skipping import skipped_run

SECONDS = {"slow": 5, "quick": 2, "later": 1}
TOKENS = {"slow": 70, "quick": 20, "later": 3}
PLAN = f"""
- name: both
  type: parallel
  branches:
    left: [{agent("slow")}]
    right: [{agent("quick")}, {agent("later")}]
"""


class Counting:
    """A world whose answers take their time, and their tokens."""

    async def run_agent(self, request: AgentRequest) -> AgentResponse:
        await asyncio.sleep(SECONDS[request.task])
        usage = TokenUsage(input_tokens=TOKENS[request.task])
        return AgentResponse(success=True, data="said", usage=usage)

    async def call_function(self, request: FunctionRequest) -> FunctionResult:
        raise NotImplementedError


def test_a_step_counts_no_tokens_of_the_branches_beside_it() -> None:
    run = skipped_run(work(PLAN), {}, Counting())
    used = {
        (one.step or "").rpartition("/")[2]: one.tokens for one in run.state.trail if one.tokens
    }
    assert used == {**TOKENS, "both": sum(TOKENS.values())}
