"""Concurrent model turns reserve tokens and money: together they exceed no budget."""

import asyncio
from collections.abc import Callable

import pytest

from coterie.activities.contracts import (
    AgentRequest,
    AgentResponse,
    FunctionRequest,
    FunctionResult,
    TokenUsage,
)
from coterie.documents.price_lists import known_price
from coterie.dsl.compile.compiler import SourceText, compile_sources
from coterie.dsl.model.plan import Plan
from coterie.runs.in_process.local_scope import LocalScope
from coterie.workflows.core.messages import SkipInput
from coterie.workflows.core.results import RunFailed
from coterie.workflows.core.state import RunState
from coterie.workflows.core.views import Paused
from coterie.workflows.interpreter import run
from tests.support.compiling import CAPABILITIES
from tests.support.simulation.stopping import fresh

PLAN = """
llm_config:
  default_provider: scripted
  default_model: demo
  personas:
    writer: {prompts: {user: "Write {{ input }}."}, max_tokens: 900}
    helper: {prompts: {user: "Help {{ input }}."}, max_tokens: 900}
    lead: {prompts: {user: "Lead."}, max_tokens: 900, tools: [help]}
tools:
  help: {agent: helper, description: Helps., input_schema: {type: object}}
orchestration:
  entry_team: work
  budgets: BUDGETS
  teams: {work: {tasks: [TASK]}}
"""
EACH = """{name: each, type: loop, iterate_on: "{{ [1, 2, 3, 4, 5, 6] }}", loop_variable: n,
  concurrency: 6, body: [
    {name: write, agent_type: generic_single_shot, persona_key: writer, input: "{{ n }}"}]}"""
ONE = "{name: write, agent_type: generic_single_shot, persona_key: writer, input: 1}"
LEAD = "{name: lead, persona_key: lead}"
PRICES = "providers: {scripted: {prices: {demo: {input: 1, output: 1000}}}}\n  personas:"


def plan(budgets: str, task: str = EACH, *, priced: bool = False, text: str = PLAN) -> Plan:
    text = text.replace("BUDGETS", budgets).replace("TASK", task)
    if priced:
        text = text.replace("personas:", PRICES, 1)
    pricing = known_price if priced else None
    source = SourceText("a.yml", text)
    return compile_sources([source], CAPABILITIES, name="test", pricing=pricing).plan


class SlowModel:
    """A model that answers when all turns that can have begun have begun."""

    def __init__(self, output: int, cost: float | None = 0.0) -> None:
        self.now = self.most = self.begun = 0
        self._output = output
        self._cost = cost
        self.meanwhile: Callable[[int], None] = lambda _: None
        """Called in each turn with its number."""

    async def run_agent(self, request: AgentRequest) -> AgentResponse:
        self.begun += 1
        number = self.begun
        self.now += 1
        self.most = max(self.most, self.now)
        try:
            for _ in range(100):
                await asyncio.sleep(0)
            self.meanwhile(number)
        finally:
            self.now -= 1
        usage = TokenUsage(output_tokens=self._output)
        return self.answer(request).model_copy(update={"usage": usage, "cost": self._cost})

    def answer(self, request: AgentRequest) -> AgentResponse:
        return AgentResponse(data={"text": "done"})

    async def call_function(self, request: FunctionRequest) -> FunctionResult:
        raise AssertionError(request)


class CountingScope(LocalScope):
    """Counts how often a wait looks whether it is over."""

    looks = 0

    async def wait_until(
        self,
        ready: Callable[[], bool],
        seconds: float | None,
        summary: str,
        *,
        boundary: bool = True,
        stands_still: bool = True,
    ) -> bool:
        def counted() -> bool:
            self.looks += 1
            return ready()

        return await super().wait_until(counted, seconds, summary, boundary=boundary)


async def ran(
    of: Plan, model: SlowModel, scope: type[CountingScope] = CountingScope
) -> tuple[RunState, CountingScope, str]:
    """Run the plan to its end within 20 seconds; return how a budget ended it."""
    state = fresh(of, {})
    here = scope(of, state, model)
    end = ""
    try:
        async with asyncio.timeout(20):
            await run(here)
    except RunFailed as error:
        end = error.result.end
    assert all(one.reserved == one.reservations == 0 for one in state.balances.values())
    return state, here, end


def waits(state: RunState) -> list[str]:
    return [one.because for one in state.trail if one.kind == "budget" and one.status == "waits"]


async def test_concurrent_turns_wait_for_room_in_a_budget_and_all_run() -> None:
    model = SlowModel(output=400)
    state, scope, end = await ran(plan("{tokens: 3000}"), model)
    assert (model.begun, model.most, end) == (6, 3, "")
    assert state.balances["run.tokens"].used == 2_400
    assert len(waits(state)) >= 3
    assert scope.looks < 60, "a wait looks when something has happened, and only then"


async def test_turns_together_use_no_more_than_one_after_the_other() -> None:
    concurrent, _, end = await ran(plan("{tokens: 3000}"), SlowModel(output=900))
    serial = plan("{tokens: 3000}", EACH.replace("concurrency: 6", "concurrency: 1"))
    in_turn, _, same = await ran(serial, SlowModel(output=900))
    used = concurrent.balances["run.tokens"].used
    assert (end, used) == (same, in_turn.balances["run.tokens"].used) == ("budget_tokens", 3_600)
    assert waits(in_turn) == [], "a turn that runs alone never waits"


async def test_a_single_turn_begins_whatever_it_may_use() -> None:
    model = SlowModel(output=5)
    state, scope, end = await ran(plan("{tokens: 10}", ONE), model)
    assert (model.begun, end, scope.looks, waits(state)) == (1, "", 0, [])


async def test_the_trail_says_why_a_turn_waits() -> None:
    state, _, _ = await ran(plan("{tokens: 3000}"), SlowModel(output=400))
    assert waits(state)[0] == (
        "of the token budget of the run, 0 of 3,000 tokens are used, calls in progress may use "
        "2,724, and this one 908; it waits until one of them ends"
    )


async def test_money_is_reserved_by_the_prices_of_the_plan() -> None:
    model = SlowModel(output=100, cost=0.1)
    of = plan("{money: 2.0}", priced=True)
    assert of.prices["scripted/demo"].output == 1000
    state, _, end = await ran(of, model)
    assert (model.begun, model.most, end) == (6, 2, ""), "each may cost 0.90 USD"
    assert state.balances["run.money"].used == 0.6
    assert "of the money budget of the run, 0.00 of 2.00 USD are used" in waits(state)[0]


async def test_without_a_price_the_first_turn_runs_alone_and_prices_the_others() -> None:
    model = SlowModel(output=900, cost=0.1)
    begun: list[int] = []
    model.meanwhile = lambda number: begun.append(model.now)
    state, _, end = await ran(plan("{money: 10.0}"), model)
    assert (begun[0], model.most, end) == (1, 5, "")
    assert state.balances["run.money"].used == 0.6


async def test_scripted_answers_are_free_and_wait_for_nothing() -> None:
    free = compile_sources(
        [SourceText("a.yml", PLAN.replace("BUDGETS", "{money: 0.01}").replace("TASK", EACH))],
        CAPABILITIES,
        name="test",
        pricing=known_price,
    ).plan
    model = SlowModel(output=400)
    state, _, _ = await ran(free, model)
    assert (model.most, waits(state)) == (6, [])


class Leads(SlowModel):
    """An agent that calls four subagents at once."""

    def answer(self, request: AgentRequest) -> AgentResponse:
        turn = request.tool_turn
        if turn is None:
            return super().answer(request)
        asked = [{"tool": "help", "arguments": {"n": n}} for n in range(4)]
        more = {} if turn.results else {"tool_calls": asked}
        return AgentResponse.model_validate({"data": {"text": "ok"}, "conversation": "c", **more})


@pytest.mark.parametrize("owner", ["run", "persona.lead"])
async def test_parallel_subagents_reserve_too(owner: str) -> None:
    model, tokens = Leads(output=100), "{tokens: 2200}"
    text = PLAN if owner == "run" else PLAN.replace("lead: {", f"lead: {{budgets: {tokens}, ")
    state, _, end = await ran(plan(tokens if owner == "run" else "{}", LEAD, text=text), model)
    assert (model.begun, model.most, end) == (6, 2, "")
    assert state.balances[f"{owner}.tokens"].used == 600


async def test_each_turn_of_an_agent_with_tools_reserves_its_longest_answer() -> None:
    model, of = Leads(output=100), plan("{tokens: 20000}", LEAD)
    state, reserved = fresh(of, {}), list[int]()
    model.meanwhile = lambda _: reserved.append(int(state.balances["run.tokens"].reserved) // 900)
    await run(CountingScope(of, state, model))
    assert reserved == [1, 4, 3, 2, 1, 1]


BOTH = f"""{{name: both, type: parallel, join: all, branches: {{
  first: [{ONE}], second: [{ONE.replace("name: write", "name: other")}]}}}}"""


async def test_a_run_that_is_cancelled_counts_no_turn_that_still_waited() -> None:
    model = SlowModel(output=100)
    of = plan("{tokens: 1000}", BOTH)
    state = fresh(of, {})
    running = asyncio.create_task(run(CountingScope(of, state, model)))
    for _ in range(50):
        await asyncio.sleep(0)
    assert state.balances["run.tokens"].reserved > 0
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert state.balances["run.tokens"].reserved == 0
    assert [tally.calls for tally in state.tallies.values()] == [1]


async def test_a_paused_run_begins_no_turn_that_has_waited() -> None:
    model = SlowModel(output=100)
    of = plan("{tokens: 1000}", BOTH)
    state = fresh(of, {})
    scope = CountingScope(of, state, model)

    def pause(number: int) -> None:
        if number == 1:
            state.paused = Paused(by="ann", why="", since="2026-01-01T00:00:00Z")

    model.meanwhile = pause
    running = asyncio.create_task(run(scope))
    for _ in range(500):
        await asyncio.sleep(0)
    assert (model.begun, running.done()) == (1, False)
    state.paused = None
    scope.signal("resumed")
    async with asyncio.timeout(20):
        await running
    assert model.begun == 2


async def test_a_step_that_waits_can_be_skipped() -> None:
    model = SlowModel(output=100)
    of = plan("{tokens: 1000}", BOTH)
    state = fresh(of, {})
    scope = CountingScope(of, state, model)

    def skip(number: int) -> None:
        key = "work/both/second/other"
        state.skips[key] = SkipInput(task=key, value={"text": "skipped"}, by="ann")

    model.meanwhile = skip
    async with asyncio.timeout(20):
        result = await run(scope)
    assert model.begun == 1
    assert result.end == "completed"
    assert state.skips == {}


@pytest.mark.parametrize("limit", [950, 1_900])
async def test_a_scope_that_does_not_wait_lets_turns_begin(limit: int) -> None:
    """A test scope answers a wait at once: the run goes on instead of looking forever."""

    class Impatient(CountingScope):
        async def wait_until(
            self,
            ready: Callable[[], bool],
            seconds: float | None,
            summary: str,
            *,
            boundary: bool = True,
            stands_still: bool = True,
        ) -> bool:
            return ready()

    model = SlowModel(output=100)
    _, _, end = await ran(plan(f"{{tokens: {limit}}}"), model, Impatient)
    assert (model.begun, end) == (6, "")
