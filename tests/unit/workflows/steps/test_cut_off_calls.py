"""Calls that are cut off: one that must not happen twice ends as unknown, and a model's is paid."""

import asyncio
from collections.abc import Callable, Mapping, Set
from contextlib import suppress

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
from coterie.dsl.values import Json
from coterie.workflows.budgets.call_estimates import count_cut_off
from coterie.workflows.budgets.costs import report
from coterie.workflows.core.location import Location
from coterie.workflows.core.scope import Call, Jobs
from coterie.workflows.core.state_keys import MAIN
from coterie.workflows.core.state_parts import Tally
from coterie.workflows.interpreter import run
from coterie.workflows.temporal.activity_calls import CancelledEarly
from tests.support.compiling import CAPABILITIES
from tests.support.one_team import agent, document, work
from tests.support.runs import task_data
from tests.support.simulation.stopping import StoppingScope, World, fresh


class RacingScope(StoppingScope):
    """Runs branches concurrently and cuts off those not needed; a function never answers."""

    async def call_function(self, request: FunctionRequest, call: Call) -> FunctionResult:
        await asyncio.Event().wait()
        raise AssertionError("nobody answers")

    async def run_agent(self, request: AgentRequest, call: Call) -> AgentResponse:
        if request.task.startswith("slow"):
            self.world.seconds += 2
            await asyncio.Event().wait()
        if request.task.startswith("unsent"):
            with suppress(asyncio.CancelledError):
                await asyncio.Event().wait()
            raise CancelledEarly
        return await super().run_agent(request, call)

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
        assert isinstance(jobs, Mapping)
        running = {asyncio.ensure_future(job()): name for name, job in jobs.items()}
        finished: frozenset[str] = frozenset()
        while not enough(finished):
            done, _ = await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
            finished |= {running.pop(task) for task in done}
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)
        return finished


def answer(request: AgentRequest | FunctionRequest) -> Json:
    return {"n": 1}


@pytest.mark.parametrize(
    ("function", "command", "status", "error"),
    [
        ("CommandRunner.run_once", "deploy", "failure", "OutcomeUnknown"),
        ("CommandRunner.run", "pytest", "skipped", ""),
    ],
)
async def test_a_lost_call_ends_as_unknown_where_it_must_not_happen_twice(
    function: str, command: str, status: str, error: str
) -> None:
    seen = "[tasks.deploy.status, tasks.deploy.error.type if tasks.deploy.error else '']"
    steps = f"""
        - name: race
          type: parallel
          join: any
          branches:
            slow: [{{name: deploy, skill: {function}, input: {{command: {command}}}}}]
            fast: [{agent("quick")}]
        - {{name: end, type: return, value: "{{{{ {seen} + [tasks.race.data.winner] }}}}"}}
    """.replace("\\'", "'")
    plan = work(f"""
- name: follow
  agent_type: generic_orchestrating
  persona_key: writer
  config:
    prompts: null
    execution_plan:
{steps}
""")
    state = fresh(plan, {})
    result = await run(RacingScope(plan, state, World(answer), None))
    assert task_data(result)["follow"] == [status, error, "fast"]
    reasons = [entry.because for entry in state.trail if entry.step == "follow/race/slow/deploy"]
    assert any("OutcomeUnknown" in because for because in reasons) == bool(error)


RACE = f"""
- name: race
  type: parallel
  join: any
  branches:
    lost: [{agent("slow_one", "{{ context.text }}")}]
    waits: [{agent("unsent")}]
    fast: [{agent("quick", "x")}]
"""


async def test_the_input_of_a_losing_model_call_is_estimated_counted_and_explained() -> None:
    plan = work(RACE)
    state = fresh(plan, {"text": "x" * 4000})
    await run(RacingScope(plan, state, World(answer), None))
    rows = {row.name: row for row in report(plan, state).tasks}
    lost = rows["work/race/lost/slow_one"]
    assert 1000 <= lost.input_tokens <= 1020
    assert (lost.calls, lost.cut_off, lost.unpriced, lost.output_tokens) == (1, 1, 1, 0)
    assert lost.seconds >= 2
    assert rows["work/race/fast/quick"].cut_off == 0
    (shown,) = [entry for entry in state.trail if entry.status == "cut_off"]
    assert shown.step == "race/lost/slow_one"
    assert shown.tokens == lost.input_tokens
    assert f"about {lost.input_tokens:,} input tokens are counted, an estimate" in shown.because


async def test_a_call_that_was_cut_off_before_it_began_costs_nothing() -> None:
    plan = work(RACE)
    state = fresh(plan, {"text": ""})
    await run(RacingScope(plan, state, World(answer), None))
    unsent = next(one for one in report(plan, state).tasks if one.name.endswith("unsent"))
    assert (unsent.calls, unsent.cut_off, unsent.input_tokens) == (1, 0, 0)


PRICED = "providers: {scripted: {prices: {demo: {input: 100, output: 100}}}}\n  personas:"
BUDGETS = "budgets: {tokens: 100000, money: 5, working_time: 1h}\n  teams:"


def with_budgets(budgets: str) -> Plan:
    text = document(RACE).replace("  teams:", f"  {budgets}", 1).replace("personas:", PRICED, 1)
    source = SourceText("a.yml", text)
    return compile_sources([source], CAPABILITIES, name="test", pricing=known_price).plan


async def test_budgets_of_tokens_time_and_money_pay_for_a_losing_call() -> None:
    plan = with_budgets(BUDGETS)
    state = fresh(plan, {"text": "x" * 4000})
    await run(RacingScope(plan, state, World(answer), None))
    used = {use.id: use for use in report(plan, state).budgets}
    tokens = used["run.tokens"].used
    assert 1000 <= tokens <= 1020
    assert used["run.working_time"].used >= 2
    cost = round(tokens * 100 / 1_000_000, 6)
    assert (used["run.money"].used, used["run.money"].state) == (cost, "open")
    assert report(plan, state).total.cost == cost


class PayingScope(RacingScope):
    """Each answer has used 50 tokens, and cost 0.01 US dollars."""

    async def run_agent(self, request: AgentRequest, call: Call) -> AgentResponse:
        response = await super().run_agent(request, call)
        usage = TokenUsage(input_tokens=40, output_tokens=10)
        return response.model_copy(update={"usage": usage, "cost": 0.01})


async def test_without_a_budget_of_money_a_losing_call_costs_as_much_as_the_tokens_of_others() -> (
    None
):
    plan = work(f"- {agent('first')}\n{RACE}")
    state = fresh(plan, {"text": "x" * 4000})
    await run(PayingScope(plan, state, World(answer), None))
    lost = next(one for one in report(plan, state).tasks if one.name.endswith("slow_one"))
    assert (lost.cut_off, lost.unpriced) == (1, 0)
    assert lost.cost == round(lost.input_tokens * 0.01 / 50, 6)


class LosingScope(StoppingScope):
    """Loses the worker of each model call once."""

    async def run_agent(self, request: AgentRequest, call: Call) -> AgentResponse:
        usage = TokenUsage(input_tokens=30, output_tokens=5)
        response = await super().run_agent(request, call)
        return response.model_copy(update={"usage": usage, "cost": 0.5, "cut_off": 1})


async def test_a_model_call_that_was_lost_with_its_worker_is_counted_with_its_cost() -> None:
    plan = work(f"- {agent('ask')}")
    state = fresh(plan, {})
    await run(LosingScope(plan, state, World(answer), None))
    total = report(plan, state).total
    assert (total.calls, total.cut_off, total.cost, total.input_tokens) == (1, 1, 0.5, 30)


@pytest.mark.parametrize(("calls", "sent", "counted"), [(1, 0, 0), (2, 30, 30), (4, 100, 33)])
def test_a_call_that_cannot_be_estimated_counts_like_the_others_of_its_task(
    calls: int, sent: int, counted: int
) -> None:
    plan = work(f"- {agent('own')}")
    scope = LosingScope(plan, fresh(plan, {}), World(answer), None)
    request = AgentRequest(team="work", task="own", visit=1, agent_type=None, agent_class="my.Own")
    tally = Tally("work/own", calls=calls, input_tokens=sent)
    at = Location.of_visit(MAIN, "work", 1).at("own")
    count_cut_off(request, tally, scope.time(), (), at, scope)
    assert tally.input_tokens == sent + counted
    assert [entry.tokens for entry in scope.state.trail] == [counted]
