"""How a fan-out joins: for which branches it waits, what it takes over, and what it leaves."""

import pytest

from coterie.activities.contracts import AgentRequest, FunctionRequest
from coterie.dsl.evaluate.context_writes import ContextWrite
from coterie.dsl.model.causes import RunCancelled
from coterie.dsl.model.outcomes import Outcome
from coterie.dsl.model.plan import Plan
from coterie.dsl.values import Json
from coterie.workflows.core.location import RunLeft
from coterie.workflows.core.results import RunFailed
from coterie.workflows.core.scope import Interrupted
from coterie.workflows.core.state import RunState
from coterie.workflows.core.state_keys import MAIN, StateKey
from coterie.workflows.core.state_parts import FanOut, Routed, Track
from coterie.workflows.fan_out import leave
from coterie.workflows.interpreter import run
from tests.support.compiling import plan_of
from tests.support.one_team import agent
from tests.support.simulation.stopping import StoppingScope, World, carried, fresh

HEAD = """
llm_config:
  default_provider: scripted
  default_model: demo
  personas:
    writer: {prompts: {user: "Write {{ input }}."}}
orchestration:
  entry_team: start
  teams:
    start:
      tasks: [{name: begin, type: set, values: {x: 1}}]
      routing: {rules: [{condition: all_success, next_team: [a, b, c], RULE}]}
"""
NAMES = ("a", "b", "c")


def plan(rule: str = "concentrator: both", collect: str = "", writes: str = "") -> Plan:
    end = "both" if "concentrator" in rule else "null"
    more = f", context_updates: {{{writes}}}" if writes else ""
    route = f"routing: {{rules: [{{condition: all_success, next_team: {end}{more}}}]}}"
    teams = [
        f"    {name}: {{tasks: [{agent(f'ask_{name}')}], {route.replace('NAME', name)}}}"
        for name in NAMES
    ]
    if end == "both":
        seen = "{name: seen, type: set, values: {n: 1}}"
        teams.append(f"    both: {{type: concentrator, {collect} tasks: [{seen}]}}")
    return plan_of(HEAD.replace("RULE", rule) + "\n".join(teams) + "\n")


async def ran(of: Plan, *, fails: str = "", everywhere: bool = False) -> tuple[RunState, World]:
    def answer(request: AgentRequest | FunctionRequest) -> Json:
        assert isinstance(request, AgentRequest)
        return {"fails": "Broken"} if request.task == f"ask_{fails}" else {"n": 1}

    world, state = World(answer), fresh(of, {})
    while True:
        try:
            await run(StoppingScope(of, state, world, 1 if everywhere else None))
        except Interrupted:
            state = carried(state)
        else:
            return state, world


def ends(state: RunState) -> list[tuple[str | None, str | None, int]]:
    """The branches as the trail has them at the join."""
    return [
        (one.step, one.status, one.visit)
        for one in state.trail
        if one.team == "start" and one.step in NAMES
    ]


@pytest.mark.parametrize("everywhere", [False, True])
@pytest.mark.parametrize(
    ("collect", "fails", "statuses"),
    [
        ("", "", ["done", "done", "done"]),
        ("collect: {count: 1},", "", ["done", "cancelled", "cancelled"]),
        ("collect: {count: 2},", "", ["done", "done", "cancelled"]),
        ("collect: {count: 2},", "a", ["failed", "done", "done"]),
        ("collect: {signal: go},", "b", ["done", "failed", "done"]),
    ],
    ids=["all", "one is enough", "two are enough", "two that succeed", "a signal that never came"],
)
async def test_a_concentrator_waits_for_as_many_branches_as_it_wants(
    collect: str, fails: str, statuses: list[str], everywhere: bool
) -> None:
    state, world = await ran(plan(collect=collect), fails=fails, everywhere=everywhere)
    assert ends(state) == [(name, end, 0) for name, end in zip(NAMES, statuses, strict=True)]
    if not everywhere:
        assert len(world.calls) == 3 - statuses.count("cancelled")
    assert "both" in state.main.latest


async def test_a_signal_that_ended_a_wait_is_taken_and_later_ones_stay() -> None:
    of = plan(collect="collect: {signal: go},")
    state = fresh(of, {})
    state.signals["go"] = [1, 2]
    left = StateKey.at(MAIN.fan_out_branch("a"), "earlier", 1, "gone")
    state.progress.tool_retries[left] = 1
    await run(StoppingScope(of, state, World(lambda _: {"n": 1}), None))
    assert state.signals["go"] == [2]
    assert (state.progress.tool_retries, list(state.tracks)) == ({}, [MAIN])


async def test_without_a_concentrator_a_branch_that_fails_ends_the_run() -> None:
    state, _ = await ran(plan("merge: {x: replace}"))
    assert [status for _, status, _ in ends(state)] == ["done"] * 3
    with pytest.raises(RunFailed, match="the branch 'b' failed"):
        await ran(plan("merge: {x: replace}"), fails="b")


async def test_branches_that_write_the_same_path_need_the_policy_of_the_rule() -> None:
    writes = "x: NAME"
    state, _ = await ran(plan("concentrator: both, merge: {x: replace}", writes=writes))
    assert state.main.context == {"x": "c"}
    with pytest.raises(RunFailed, match="say in the rule that fans out"):
        await ran(plan(writes=writes))


def test_a_run_that_leaves_a_fan_out_takes_over_what_its_done_branches_gave() -> None:
    of = plan(writes="y.NAME: 1")
    state = fresh(of, {})
    cause = RunCancelled("cancelled", "by ann")
    fan_out = FanOut(("a", "b"), visit=4, concentrator="both")
    track = state.main
    track.fan_out, track.routed = fan_out, Routed("started", cause, "start")
    for name, end in (("a", "done"), ("b", "running")):
        child = Track(context={}, team=name, routed=track.routed, branch=True)
        child.latest = {name: {f"ask_{name}": Outcome.succeeded(name)}}
        child.end = "done" if end == "done" else "running"
        child.updates = [ContextWrite(name, 1)]
        state.tracks[MAIN.fan_out_branch(name)] = child
    state.progress.tool_retries[StateKey.at(MAIN.fan_out_branch("b"), "b", 1, "gone")] = 1
    scope = StoppingScope(of, state, World(lambda _: {}), None)
    leave(MAIN, track, fan_out, RunLeft("both", cause), scope)
    assert (track.team, track.fan_out, list(track.latest)) == ("both", None, ["a"])
    assert (track.context, list(state.tracks), state.progress.tool_retries) == (
        {"a": 1},
        [MAIN],
        {},
    )
    assert [(one.team, one.visit, one.next_team) for one in state.trail] == [("start", 4, "both")]
