"""A run that continues as new while its model turns wait for batches ends like one that does not.

Each wait for a batch is cut in the middle, and the state passes through JSON.
"""

from collections.abc import Callable
from contextlib import suppress

import pytest

from coterie.activities.contracts import (
    AgentRequest,
    AgentResponse,
    ContextUse,
    FunctionRequest,
    FunctionResult,
    Spent,
    StartedBatch,
    TokenUsage,
)
from coterie.dsl.model.plan import Plan
from coterie.dsl.values import Json, JsonValue
from coterie.workflows.control.retry_and_skip import skip
from coterie.workflows.core.messages import SkipInput
from coterie.workflows.core.results import RunFailed
from coterie.workflows.core.scope import Call, CallFailed, Interrupted
from coterie.workflows.core.state import RunState
from coterie.workflows.interpreter import run
from tests.support.simulation.stopping import StoppingScope, World, carried, fresh
from tests.support.tool_agents import (
    QUERY,
    answer,
    calls,
    function_tool,
    persona,
    tool_plan,
    unusable,
)

Model = Callable[[AgentRequest, int], AgentResponse | CallFailed]
LOOKS = 3
USAGE = TokenUsage(input_tokens=100, output_tokens=10)
TOOLS: dict[str, Json] = {"search": function_tool(input_schema=QUERY)}
ASK: tuple[str, Json] = ("search", {"query": "rain"})
BUDGETS: list[JsonValue] = [
    {"kind": "tokens", "limit": 100_000},
    {"kind": "model_calls", "limit": 100},
]
SINGLE: Json = {"agent_type": "generic_single_shot"}


class BatchWorld(World):
    """A provider that takes each turn as a batch, and has its answer at the third look."""

    def __init__(self, model: Model) -> None:
        super().__init__(answer=lambda _: {})
        self.model = model
        self.sent: list[AgentRequest] = []
        self.looks: dict[str, int] = {}
        self.unwanted: list[str] = []


class BatchScope(StoppingScope):
    """Cuts each wait that may be a boundary in its middle, if it is to."""

    def __init__(self, plan: Plan, state: RunState, world: BatchWorld, *, cuts: bool) -> None:
        super().__init__(plan, state, world, None)
        self.batches = world
        self.cuts = cuts
        self.skipped: SkipInput | None = None

    async def run_agent(self, request: AgentRequest, call: Call) -> AgentResponse:
        world = self.batches
        world.calls.append(call.id)
        world.seconds += 1
        batch = request.started
        if batch is None:
            world.sent.append(request)
            batch = StartedBatch(id=f"b-{len(world.sent)}", custom_id=call.id)
            return AgentResponse(in_progress=batch)
        if batch.unwanted:
            world.unwanted.append(batch.id)
            return AgentResponse()
        looks = world.looks[batch.id] = world.looks.get(batch.id, 0) + 1
        if looks < LOOKS:
            return AgentResponse(in_progress=batch.model_copy(update={"waited": 0.0}))
        response = world.model(request, len(world.sent))
        if isinstance(response, CallFailed):
            raise response
        made = {"usage": USAGE, "conversation": batch.custom_id if request.conversation else None}
        return response.model_copy(update=made)

    async def call_function(self, request: FunctionRequest, call: Call) -> FunctionResult:
        self.world.calls.append(call.id)
        return FunctionResult(data="found")

    async def wait_until(
        self,
        ready: Callable[[], bool],
        seconds: float | None,
        summary: str,
        *,
        boundary: bool = True,
        stands_still: bool = True,
    ) -> bool:
        if self.skipped is not None:
            skip(self.plan, self.state, self.skipped, self.now(), "update", lambda _: None)
        if self.cuts and boundary and seconds is not None:
            self.world.seconds += seconds / 2
            raise Interrupted(seconds / 2)
        return await super().wait_until(
            ready, seconds, summary, boundary=boundary, stands_still=stands_still
        )


async def ended(plan: Plan, model: Model, *, cuts: bool) -> tuple[RunState, BatchWorld]:
    """The run at its end; with every first wait cut, it continues with the second half."""
    world, state = BatchWorld(model), fresh(plan, {})
    while True:
        try:
            with suppress(RunFailed):
                await run(BatchScope(plan, state, world, cuts=cuts))
            return state, world
        except Interrupted:
            state = carried(state)
            assert state.progress.parked_turns
            try:
                with suppress(RunFailed):
                    await run(OneWait(plan, state, world, cuts=True))
                return state, world
            except Interrupted:
                state = carried(state)


class OneWait(BatchScope):
    """Lets the first wait pass, which is the rest of the one that was cut."""

    passed = False

    async def wait_until(
        self,
        ready: Callable[[], bool],
        seconds: float | None,
        summary: str,
        *,
        boundary: bool = True,
        stands_still: bool = True,
    ) -> bool:
        cuts, self.cuts, self.passed = self.cuts, self.cuts and self.passed, True
        try:
            return await super().wait_until(
                ready, seconds, summary, boundary=boundary, stands_still=stands_still
            )
        finally:
            self.cuts = cuts


def of_numbers(*answers: AgentResponse | CallFailed) -> Model:
    """The model's answers to the first batch, the second one, and so on."""
    return lambda _, number: answers[number - 1]


def failed() -> CallFailed:
    return CallFailed("ProviderUnavailable", "expired", Spent(usage=USAGE))


def hook(on: str, **more: JsonValue) -> Json:
    return {"name": on, "on": on, **more}


FULL = ContextUse(tokens=2_000, window=100_000, turns=3)
SUMMARY = AgentResponse(
    data={"summary": "Known.", "summarised": 2, "kept": 1}, context=ContextUse(tokens=9, turns=1)
)
HOOKS: list[JsonValue] = [
    hook("before_turn", decide="modify", value="Be brief."),
    hook("before_model_call", decide="modify", value="Be true."),
    hook("after_model_call", decide="retry", message="Again.", max_retries=2),
]
CASES: dict[str, tuple[Json, Json, Model]] = {
    "answer": (SINGLE, {}, of_numbers(answer("yes"))),
    "reask": (
        SINGLE,
        {"max_reasks": 2},
        of_numbers(unusable("no"), unusable("no"), answer("yes")),
    ),
    "fallback": (
        SINGLE,
        {"fallback": ["scripted/other", "scripted/third"]},
        of_numbers(failed(), failed(), answer("yes")),
    ),
    "no fallback left": (
        SINGLE,
        {"fallback": ["scripted/other"]},
        of_numbers(failed(), failed()),
    ),
    "conversation": ({**SINGLE, "conversation": "talk"}, {}, of_numbers(answer("yes"))),
    "hooks": (
        SINGLE,
        {"hooks": HOOKS},
        of_numbers(answer("yes"), answer("yes"), answer("yes")),
    ),
    "tools": (
        {},
        {"tools": ["search"]},
        of_numbers(calls(ASK), unusable("no"), answer("yes")),
    ),
    "tools and a fallback": (
        {},
        {"tools": ["search"], "fallback": ["scripted/other"]},
        of_numbers(calls(ASK), failed(), calls(ASK), answer("yes")),
    ),
    "compaction": (
        {},
        {"tools": ["search"], "compaction": {"at": 1_000, "keep_turns": 1}},
        of_numbers(
            calls(ASK).model_copy(update={"context": FULL}), SUMMARY, calls(ASK), answer("yes")
        ),
    ),
}


def plan_of(step: Json, more: Json) -> Plan:
    tools = more.get("tools", [])
    assert isinstance(tools, list)
    made = {**more, "batch": True}
    made.pop("tools", None)
    actor = persona(*map(str, tools), **made)
    return tool_plan(TOOLS, {"actor": actor}, step=step, budgets=BUDGETS)


@pytest.mark.parametrize("case", CASES)
async def test_a_run_that_continues_as_new_in_each_wait_ends_like_one_that_does_not(
    case: str,
) -> None:
    step, more, model = CASES[case]
    plan = plan_of(step, more)
    whole, once = await ended(plan, model, cuts=False)
    state, world = await ended(plan, model, cuts=True)
    assert world.sent == once.sent, "nothing is submitted again"
    assert world.calls == once.calls
    assert world.looks == dict.fromkeys(world.looks, LOOKS)
    assert any(one.compaction for one in world.sent) == (case == "compaction")
    assert state.progress.parked_turns == {}
    assert state.carried() == whole.carried()


async def test_a_person_can_skip_a_turn_that_was_parked() -> None:
    plan = plan_of(SINGLE, {})
    world, state = BatchWorld(of_numbers(answer("yes"))), fresh(plan, {})
    with pytest.raises(Interrupted):
        await run(BatchScope(plan, state, world, cuts=True))
    state = carried(state)
    scope = BatchScope(plan, state, world, cuts=False)
    scope.skipped = SkipInput(task="act", by="ann", value={"text": "-"})
    await run(scope)
    assert (len(world.sent), world.unwanted, world.looks) == (1, ["b-1"], {})
    assert state.progress.parked_turns == {}
