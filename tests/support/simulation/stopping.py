"""A Scope in one process that stops a run at any checkpoint, as continuing as new does."""

import json
from collections.abc import Callable, Coroutine, Mapping, Set
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import NamedTuple, cast

from coterie.activities.contracts import (
    AgentRequest,
    AgentResponse,
    FunctionRequest,
    FunctionResult,
)
from coterie.dsl.model.evaluation_budget import EvaluationWork
from coterie.dsl.model.outcomes import Outcome
from coterie.dsl.model.plan import Plan
from coterie.dsl.values import Json
from coterie.workflows.approvals import decisions as approvals
from coterie.workflows.control import retry_and_skip as steering
from coterie.workflows.core.messages import DecideInput, RetryInput, SkipInput
from coterie.workflows.core.requests import Pending
from coterie.workflows.core.scope import (
    Call,
    CallFailed,
    Interrupted,
    Jobs,
    Leaving,
    TemporalRequest,
)
from coterie.workflows.core.state import RunState
from coterie.workflows.core.state_parts import PendingNotification
from coterie.workflows.core.views import TeamResult
from coterie.workflows.handlers.start_checks import begin
from coterie.workflows.interpreter import run

BEGAN = datetime(2026, 1, 1, tzinfo=UTC)
Answer = Callable[[AgentRequest | FunctionRequest], Json]


@dataclass
class World:
    """What is outside of the run: it counts every call, and its clock goes on with each."""

    answer: Answer
    calls: list[str] = field(default_factory=list[str])
    seconds: float = 0.0

    def call(self, request: AgentRequest | FunctionRequest, call: Call) -> Json:
        """Answer one call; an answer `{"fails": type}` is a failed call."""
        self.calls.append(call.id)
        self.seconds += 1
        answer = self.answer(request)
        if "fails" in answer:
            raise CallFailed(str(answer["fails"]), "on purpose")
        return answer


class Wait(NamedTuple):
    """One wait of a run."""

    seconds: float | None
    boundary: bool
    """Whether the run may continue as new in it."""


class StoppingScope:
    """The Scope protocol without Temporal; several jobs run one after the other."""

    run_id = "test"
    in_flight = 0
    leaving: Leaving | None = None
    late = False
    """Whether no concurrent job is ever done in time."""

    def __init__(self, plan: Plan, state: RunState, world: World, stop_at: int | None) -> None:
        self.plan = plan
        self.state = state
        state.execution = state.execution or "first"
        self.work = EvaluationWork()
        self.world = world
        self.left = stop_at
        self.notifications: list[PendingNotification] = []
        self.noted_waits: list[Wait] = []
        self.begun_jobs: list[frozenset[str]] = []
        """Of each set of concurrent jobs, those that had begun before."""

    def now(self) -> datetime:
        return BEGAN + timedelta(seconds=self.world.seconds)

    def time(self) -> float:
        return self.now().timestamp()

    def cancelled(self) -> str | None:
        return None

    def notify(self, notification: PendingNotification) -> None:
        self.notifications.append(notification)

    def weigh(self, steps: int) -> None:
        """Nobody waits for it."""

    async def rest(self) -> None:
        """Nobody waits for it either."""

    async def settle(self) -> None:
        """Nothing else runs."""

    async def grouped(self, name: str, work: Coroutine[None, None, Outcome]) -> Outcome:
        return await work

    async def checkpoint(self) -> None:
        self.work.take()
        if self.left is None:
            return
        if self.left == 0:
            raise Interrupted
        self.left -= 1

    async def run_agent(self, request: AgentRequest, call: Call) -> AgentResponse:
        return AgentResponse(success=True, data=self.world.call(request, call))

    async def call_function(self, request: FunctionRequest, call: Call) -> FunctionResult:
        return FunctionResult(data=self.world.call(request, call))

    async def call_on_temporal(self, request: TemporalRequest, call: Call) -> FunctionResult:
        asked = FunctionRequest(skill=request.name, input=request.given, key="")
        return FunctionResult(data=self.world.call(asked, call))

    async def wait_until(
        self,
        ready: Callable[[], bool],
        seconds: float | None,
        summary: str,
        *,
        boundary: bool = True,
        stands_still: bool = True,
    ) -> bool:
        """Ann approves what waits, and has what failed tried again once, then skips it; a wait for
        nothing takes its time."""
        self.noted_waits.append(Wait(seconds, boundary))
        for request, asks in list(self.state.pending.items()):
            if asks.choices and request.endswith("#1"):
                steering.retry(self.state, RetryInput(task=request, by="ann"), self.now(), "update")
                continue
            if asks.choices:
                given = SkipInput(task=request, value={"n": 1}, by="ann")
                steering.skip(self.plan, self.state, given, self.now(), "update", lambda _: None)
                continue
            approvals.record(self.state, self.decision_about(asks), self.now(), "update")
        if ready():
            return True
        self.world.seconds += seconds or 0
        return False

    def decision_about(self, request: Pending) -> DecideInput:
        """Return what a person decides; by default ann approves."""
        return DecideInput(id=request.id, decision="approve", by="ann")

    async def messages_delivered(self) -> None:
        """Do nothing: messages arrive at any time."""

    async def together(
        self,
        jobs: Jobs,
        *,
        enough: Callable[[frozenset[str]], bool],
        at_once: int | None = None,
        seconds: float | None = None,
        wake: Callable[[], bool] | None = None,
        begun: Set[str] = frozenset(),
    ) -> frozenset[str]:
        self.begun_jobs.append(frozenset(begun))
        finished: frozenset[str] = frozenset()
        interrupted = False
        if self.late:
            return finished
        for name, job in jobs.items() if isinstance(jobs, Mapping) else iter(jobs.take, None):
            if enough(finished):
                break
            try:
                await job()
                finished |= {name}
            except Interrupted:  # the others come to their next step, or end
                interrupted = True
        if interrupted and not enough(finished):
            raise Interrupted(seconds)
        return finished


def fresh(plan: Plan, context: Json) -> RunState:
    """The state at the beginning of a run."""
    state = RunState()
    state.main.context = context
    begin(plan, state)
    return state


async def undisturbed(plan: Plan, context: Json, answer: Answer) -> tuple[TeamResult, World]:
    """The run from beginning to end."""
    world = World(answer)
    return await run(StoppingScope(plan, fresh(plan, context), world, None)), world


async def stopped_at(
    plan: Plan, context: Json, answer: Answer, number: int
) -> tuple[TeamResult, World] | None:
    """The run, stopped once, at the checkpoint of that number; None when there are not as many."""
    world, state = World(answer), fresh(plan, context)
    try:
        await run(StoppingScope(plan, state, world, number))
    except Interrupted:
        return await run(StoppingScope(plan, carried(state), world, None)), world
    return None


async def stopped_everywhere(plan: Plan, context: Json, answer: Answer) -> tuple[TeamResult, World]:
    """The run, stopped at every second checkpoint: each part passes one and stops at the next."""
    world, state = World(answer), fresh(plan, context)
    for _ in range(10_000):
        try:
            return await run(StoppingScope(plan, state, world, 1)), world
        except Interrupted:
            state = carried(state)
    raise AssertionError("the run never ended")


def carried(state: RunState) -> RunState:
    """The state as the next part of the run gets it: through JSON."""
    return RunState.resumed(cast("Json", json.loads(json.dumps(state.carried()))))
