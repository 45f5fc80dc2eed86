"""An interpreter that is started anew with the same state goes on where it was."""

import json
from collections.abc import Callable, Set
from typing import cast

from coterie.activities.contracts import (
    AgentRequest,
    AgentResponse,
    FunctionRequest,
    FunctionResult,
)
from coterie.dsl.model.plan import Plan
from coterie.dsl.values import Json
from coterie.runs.in_process.local_scope import LocalScope
from coterie.workflows.core.messages import DecideInput
from coterie.workflows.core.scope import Interrupted, Jobs
from coterie.workflows.core.state import RunState
from coterie.workflows.core.views import TeamResult
from coterie.workflows.handlers.start_checks import begin
from coterie.workflows.interpreter import run
from tests.support.engine import plan_of

TEAM = """
llm_config:
  default_provider: scripted
  default_model: demo
  personas:
    writer: {prompts: {user: "Write about {{ context.topic }}."}}
    looper:
      execution_plan:
        - {name: start, type: set, values: {sum: 0}}
        - name: outer
          type: loop
          iterate_on: [1, 2]
          loop_variable: n
          body:
            - {name: call, agent_type: generic_single_shot, persona_key: writer}
            - name: inner
              type: loop
              while: "{{ sum < 100 * n }}"
              max_iterations: 2
              body: [{name: add, type: set, values: {sum: "{{ sum + 10 }}"}}]
            - name: way
              type: branch
              branches:
                - condition: "{{ n > 1 }}"
                  steps: [{name: two, type: set, values: {two: true}}]
              otherwise: [{name: one, agent_type: generic_single_shot, persona_key: writer}]
        - name: guarded
          type: try
          steps: [{name: bad, type: fail, error: Bang, message: on purpose}]
          catch:
            - error: Bang
              steps: [{name: mended, type: set, values: {mended: "{{ error.type }}"}}]
          finally: [{name: last, agent_type: generic_single_shot, persona_key: writer}]
orchestration:
  entry_team: one
  teams:
    one:
      tasks:
        - {name: work, agent_type: generic_orchestrating, persona_key: looper}
        - {name: sign, type: approval, prompt: "Well?"}
        - {name: called, type: team, team: side, input: {topic: other}}
      routing:
        rules:
          - condition: "{{ run.visit < 2 }}"
            next_team: one
            context_updates: {sum: "{{ tasks.work.data.sum }}"}
          - {condition: all_success, next_team: [left, right], merge: {both: extend}}
    side: {tasks: [{name: aside, agent_type: generic_single_shot, persona_key: writer}]}
    left:
      tasks: [{name: tl, agent_type: generic_single_shot, persona_key: writer}]
      routing: {rules: [{condition: all_success, next_team: meet, context_updates: {both: l}}]}
    right:
      tasks: [{name: tr, agent_type: generic_single_shot, persona_key: writer}]
      routing: {rules: [{condition: all_success, next_team: meet, context_updates: {both: r}}]}
    meet:
      type: concentrator
      tasks: [{name: m, type: set, values: {m: "{{ branches.left.status }}"}}]
"""


class World:
    """Answers every call, and counts it."""

    def __init__(self) -> None:
        self.calls: list[str] = []

    async def run_agent(self, request: AgentRequest) -> AgentResponse:
        self.calls.append(f"{request.team}/{request.task}#{request.visit}")
        return AgentResponse(success=True, data={"text": f"answer {len(self.calls)}"})

    async def call_function(self, request: FunctionRequest) -> FunctionResult:
        raise AssertionError(request.skill)


class Stopping(LocalScope):
    """Stops the run at one checkpoint, as continuing as new does."""

    def __init__(self, plan: Plan, state: RunState, world: World, stop_at: int | None) -> None:
        super().__init__(plan, state, world)
        self.left = stop_at
        self.at_once = 0

    async def checkpoint(self) -> None:
        if self.at_once == 0 and self.left is not None:
            if self.left == 0:
                raise Interrupted
            self.left -= 1
        await super().checkpoint()

    async def wait_until(
        self,
        ready: Callable[[], bool],
        seconds: float | None,
        summary: str,
        *,
        boundary: bool = True,
        stands_still: bool = True,
    ) -> bool:
        for request in list(self.state.pending):
            self.decide(DecideInput(id=request, decision="approve", by="ann"))
        return await super().wait_until(ready, seconds, summary)

    async def together(
        self,
        jobs: Jobs,
        *,
        enough: Callable[[Set[str]], bool],
        at_once: int | None = None,
        seconds: float | None = None,
        wake: Callable[[], bool] | None = None,
        begun: Set[str] = frozenset(),
    ) -> Set[str]:
        self.at_once += 1
        try:
            return await super().together(
                jobs, enough=enough, at_once=at_once, seconds=seconds, wake=wake, begun=begun
            )
        finally:
            self.at_once -= 1


async def undisturbed(plan: Plan) -> tuple[TeamResult, World]:
    world, state = World(), RunState()
    state.main.context = {"topic": "tea"}
    begin(plan, state)
    return await run(Stopping(plan, state, world, None)), world


async def test_run_continues_from_any_point_and_repeats_nothing() -> None:
    plan = plan_of(TEAM)
    expected, once = await undisturbed(plan)
    stops = 0
    while True:
        world, state = World(), RunState()
        state.main.context = {"topic": "tea"}
        begin(plan, state)
        try:
            await run(Stopping(plan, state, world, stops))
            break  # there are no more checkpoints than these
        except Interrupted:
            carried = cast("Json", json.loads(json.dumps(state.carried())))
            resumed = RunState.resumed(carried)
            result = await run(Stopping(plan, resumed, world, None))
        assert world.calls == once.calls, f"stopped at checkpoint {stops}"
        assert result.context == expected.context
        assert result.output == expected.output
        assert result.visits == expected.visits
        assert result.trail_digest == expected.trail_digest
        stops += 1
    assert stops > 30, "the run has many places to stop at"


async def test_a_run_may_be_stopped_at_every_checkpoint_in_turn() -> None:
    plan = plan_of(TEAM)
    expected, once = await undisturbed(plan)
    world, state = World(), RunState()
    state.main.context = {"topic": "tea"}
    begin(plan, state)
    for _ in range(1000):
        scope = Stopping(plan, state, world, 6)  # deeper than steps are nested
        try:
            result = await run(scope)
            break
        except Interrupted:
            state = RunState.resumed(json.loads(json.dumps(state.carried())))
    else:
        raise AssertionError("the run never ended")
    assert world.calls == once.calls
    assert result.context == expected.context
