"""Calls that repeat are counted by what they came to, never by the words of a failure."""

import pytest

from activities.contracts import AgentRequest, AgentResponse, SkillRequest, SkillResult
from coterie.runs.in_process.local_scope import LocalScope
from dsl.model.outcomes import Outcome
from tests.support.compiling import plan_of
from workflows.agents.repeated_calls import record_call, refused
from workflows.core.location import Location
from workflows.core.state import RunState
from workflows.core.state_keys import MAIN, StateKey

PLAN = """
orchestration:
  entry_team: work
  teams: {work: {tasks: [{name: note, type: set, values: {n: 1}}]}}
"""
LOOP = StateKey.at(MAIN, "work", 1, "rounds")
HERE = Location.of_visit(MAIN, "work", 1).at("look")._replace(loop=LOOP)


class Nowhere:
    async def run_agent(self, request: AgentRequest) -> AgentResponse:
        raise AssertionError(request)

    async def call_skill(self, request: SkillRequest) -> SkillResult:
        raise AssertionError(request)


def refused_after(outcomes: list[Outcome]) -> Outcome | None:
    scope = LocalScope(plan_of(PLAN), RunState(), Nowhere())
    for outcome in outcomes:
        record_call("Search.find", {"q": "x"}, outcome, HERE, scope)
    return refused("Search.find", {"q": "x"}, HERE, scope)


@pytest.mark.parametrize(
    "outcomes",
    [
        [Outcome.succeeded({"n": 1})] * 4,
        [Outcome.failed("SkillFailed", f"attempt {number} failed") for number in range(4)],
    ],
    ids=["the same result", "the same failure in other words"],
)
def test_a_call_is_refused_after_four_times_the_same(outcomes: list[Outcome]) -> None:
    again = refused_after(outcomes)
    assert again is not None
    assert again.error is not None
    assert again.error.type == "RepeatedCall"


@pytest.mark.parametrize(
    "outcomes",
    [
        [Outcome.succeeded({"n": number}) for number in range(4)],
        [Outcome.failed(f"Type{number}", "failed") for number in range(4)],
        [Outcome.failed("SkillFailed", "failed", {"n": number}) for number in range(4)],
    ],
    ids=["another result", "another type of failure", "other data with the failure"],
)
def test_a_call_that_comes_to_something_else_may_be_made_again(outcomes: list[Outcome]) -> None:
    assert refused_after(outcomes) is None
