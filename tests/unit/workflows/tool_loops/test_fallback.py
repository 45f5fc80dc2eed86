"""Fallbacks: another model takes over when the retries of the one before have ended."""

from collections.abc import Callable

import pytest

from coterie.activities.contracts import AgentRequest, AgentResponse, TokenUsage
from coterie.dsl.model.budgets import Budget
from coterie.dsl.model.plan import Plan
from coterie.dsl.values import Json, JsonValue
from coterie.workflows.core.causes.agent_causes import HookDecided, ModelReplaced
from coterie.workflows.core.causes.trail_because import trail_because
from coterie.workflows.core.results import RunFailed
from coterie.workflows.core.scope import CallFailed
from coterie.workflows.core.state import RunState
from coterie.workflows.core.views import TeamResult
from coterie.workflows.interpreter import run
from tests.support.simulation.stopping import fresh
from tests.support.tool_agents import (
    MODEL,
    QUERY,
    ExtendingScope,
    ModelScope,
    ModelWorld,
    answer,
    calls,
    function_tool,
    persona,
    tool_plan,
)

FALLBACK: list[JsonValue] = ["second/big/one", "third/small"]
TOOLS: dict[str, Json] = {"search": function_tool(input_schema=QUERY)}


def single(**keys: JsonValue) -> Plan:
    actor: Json = {**MODEL, "prompts": {"user": "Do it."}, "fallback": FALLBACK, **keys}
    return tool_plan({}, {"actor": actor}, step={"agent_type": "generic_single_shot"})


def with_tools(**keys: JsonValue) -> Plan:
    return tool_plan(TOOLS, {"actor": persona("search", fallback=FALLBACK, **keys)})


def talking(plan: Plan) -> Plan:
    """The plan with two tasks of one conversation."""
    data = plan.model_dump(mode="json", by_alias=True, exclude_defaults=True)
    (act,) = data["teams"]["work"]["steps"]
    steps = [{**act, "name": name, "conversation": "talk"} for name in ("act", "again")]
    data["teams"]["work"]["steps"] = steps
    return Plan.model_validate(data).with_digest()


def model_of(request: AgentRequest) -> str:
    """The model that a request asks."""
    if request.persona is not None:
        return f"{request.persona.provider}/{request.persona.model}"
    return f"{request.provider}/{request.model or MODEL['model']}"


async def ran(
    plan: Plan,
    down: set[str],
    model: Callable[[AgentRequest, int], AgentResponse] = lambda request, number: answer("done"),
    type: str = "ProviderUnavailable",
) -> tuple[TeamResult, list[str], RunState]:
    """The run, with some models not available; returns the models that were asked, too."""
    asked: list[str] = []

    def answered(request: AgentRequest, number: int) -> AgentResponse:
        asked.append(model_of(request))
        if asked[-1] in down:
            raise CallFailed(type, "it is overloaded (529)")
        return model(request, number)

    world, state = ModelWorld(answered, lambda _: "found"), fresh(plan, {})
    try:
        result = await run(ModelScope(plan, state, world, None))
    except RunFailed as failed:
        result = failed.result
    return result, asked, state


def replaced(state: RunState) -> list[str]:
    return [trail_because(one.cause) for one in state.trail if isinstance(one.cause, ModelReplaced)]


@pytest.mark.parametrize("plan", [single(), with_tools()])
async def test_the_next_model_answers_and_the_trail_says_why(plan: Plan) -> None:
    result, asked, state = await ran(plan, {"scripted/demo"})
    assert result.end == "completed"
    assert asked == ["scripted/demo", "second/big/one"]
    assert replaced(state) == [
        "second/big/one takes over from scripted/demo: ProviderUnavailable: it is overloaded (529)"
    ]


async def test_the_call_of_each_model_has_a_name_of_its_own() -> None:
    def down(request: AgentRequest, _: int) -> AgentResponse:
        if model_of(request) == "third/small":
            return answer("done")
        raise CallFailed("RateLimited", "later")

    plan = single()
    world = ModelWorld(down, lambda _: "found")
    await run(ModelScope(plan, fresh(plan, {}), world, None))
    assert world.calls == ["0001.work.act", "0002.work.act.f1", "0003.work.act.f2"]


async def notes_by_model(when: str) -> dict[str, tuple[str, ...]]:
    """The notes that each model got, of a hook with a condition; only the last model answers."""
    hook: Json = {
        "name": "warn",
        "on": "before_model_call",
        "when": {"expression": f"{{{{ {when} }}}}"},
        "decide": "modify",
        "value": "Be brief.",
    }
    noted: dict[str, tuple[str, ...]] = {}

    def down(request: AgentRequest, _: int) -> AgentResponse:
        noted[model_of(request)] = request.notices
        if model_of(request) == "third/small":
            return answer("done")
        raise CallFailed("RateLimited", "later")

    plan = single(hooks=[hook])
    await run(ModelScope(plan, fresh(plan, {}), ModelWorld(down, lambda _: "found"), None))
    assert list(noted) == ["scripted/demo", *map(str, FALLBACK)]
    return noted


async def test_a_note_for_every_model_reaches_each_once() -> None:
    assert {*(await notes_by_model("turn == 1")).values()} == {("Be brief.",)}


@pytest.mark.parametrize("name", ["second/big/one", "third/small"])
async def test_a_model_gets_the_notes_of_the_hooks_before_its_call(name: str) -> None:
    noted = await notes_by_model(f"model == '{name}'")
    models = list(noted)
    assert [noted[one] for one in models[: models.index(name)]] == [()] * models.index(name)
    assert noted[name] == ("Be brief.",)


@pytest.mark.parametrize("plan", [single(), with_tools()])
async def test_the_step_fails_with_the_last_failure_when_no_model_answers(plan: Plan) -> None:
    down = {"scripted/demo", "second/big/one", "third/small"}
    result, asked, state = await ran(plan, down, type="RateLimited")
    assert len(asked) == 3
    assert len(replaced(state)) == 2
    assert result.error is not None
    assert "RateLimited" in result.error.message


@pytest.mark.parametrize("plan", [single(), with_tools()])
async def test_a_budget_of_calls_counts_those_of_fallbacks(plan: Plan) -> None:
    budget = Budget(kind="model_calls", limit=1)
    bounded = plan.model_copy(update={"budgets": (budget,)}).with_digest()
    result, asked, _ = await ran(bounded, {"scripted/demo"})
    assert asked == ["scripted/demo"]
    assert result.error is not None
    assert result.error.type == "BudgetExceeded"


@pytest.mark.parametrize("plan", [single(), with_tools()])
async def test_a_run_stays_between_a_model_and_its_fallback_while_a_budget_asks(plan: Plan) -> None:
    budget = Budget(kind="model_calls", limit=1, on_exceeded="ask")
    of = plan.model_copy(update={"budgets": (budget,)}).with_digest()

    def down(request: AgentRequest, _: int) -> AgentResponse:
        if model_of(request) == "second/big/one":
            return answer("done")
        raise CallFailed("RateLimited", "later")

    scope = ExtendingScope(of, fresh(of, {}), ModelWorld(down, lambda _: "found"), None)
    assert (await run(scope)).end == "completed"
    assert scope.boundaries == [False]


@pytest.mark.parametrize("type", ["ProviderRefused", "MissingSecret", "RequestTooLarge"])
async def test_a_request_that_fails_by_itself_asks_no_other_model(type: str) -> None:
    _, asked, state = await ran(single(), {"scripted/demo"}, type=type)
    assert asked == ["scripted/demo"]
    assert replaced(state) == []


REFUSALS = ["ProviderRefused", "MissingSecret", "ContextWindowExceeded", "AnswerUnreadable"]


async def ran_with(plan: Plan, failures: dict[str, str]) -> tuple[TeamResult, list[str], RunState]:
    """The run, in which each of these models fails in its own way."""

    def failing(request: AgentRequest, _: int) -> AgentResponse:
        type = failures.get(model_of(request))
        if type is not None:
            raise CallFailed(type, f"{model_of(request)} says no")
        return answer("done")

    return await ran(plan, set(), failing)


@pytest.mark.parametrize("plan", [single(), with_tools()])
@pytest.mark.parametrize("type", REFUSALS)
async def test_a_fallback_that_refuses_the_request_leads_to_the_next(plan: Plan, type: str) -> None:
    failures = {"scripted/demo": "ProviderUnavailable", "second/big/one": type}
    result, asked, state = await ran_with(plan, failures)
    assert (result.end, asked[-1]) == ("completed", "third/small")
    assert replaced(state)[-1] == (
        f"third/small takes over from second/big/one: {type}: second/big/one says no"
    )


@pytest.mark.parametrize("plan", [single(), with_tools()])
@pytest.mark.parametrize("type", ["ProviderRefused", "MissingSecret"])
async def test_a_fallback_that_refuses_the_request_makes_no_outage_permanent(
    plan: Plan, type: str
) -> None:
    """A retry of the step would reach the first model, which may be back by then."""
    failures = {"scripted/demo": "RateLimited", "second/big/one": type, "third/small": type}
    result, asked, _ = await ran_with(plan, failures)
    assert len(asked) == 3
    assert result.error is not None
    assert result.error.type == "TeamFailed"
    assert (
        "RateLimited: scripted/demo says no; the fallback third/small failed, too: "
        "third/small says no" in result.error.message
    )


async def test_an_answer_that_cannot_be_read_leads_to_the_fallback() -> None:
    result, asked, _ = await ran_with(single(), {"scripted/demo": "AnswerUnreadable"})
    assert (result.end, asked) == ("completed", ["scripted/demo", "second/big/one"])


async def test_a_model_that_answers_is_not_replaced() -> None:
    _, asked, state = await ran(with_tools(), {"second/big/one"})
    assert asked == ["scripted/demo"]
    assert replaced(state) == []


async def test_an_agent_stays_with_its_fallback_in_the_middle_of_its_loop() -> None:
    down: set[str] = set()

    def model(request: AgentRequest, number: int) -> AgentResponse:
        if number < 3:
            down.add("scripted/demo")
            return calls(("search", {"query": str(number)}))
        return answer("done")

    _, asked, state = await ran(with_tools(), down, model)
    assert asked == ["scripted/demo", "scripted/demo", "second/big/one", "second/big/one"]
    assert len(replaced(state)) == 1


async def test_a_first_turn_of_a_fallback_says_which_model_the_plan_names() -> None:
    requests: list[AgentRequest] = []

    def model(request: AgentRequest, number: int) -> AgentResponse:
        requests.append(request)
        return answer("done")

    await ran(talking(with_tools()), {"scripted/demo"}, model)
    assert [one.tool_turn.planned for one in requests if one.tool_turn] == ["scripted/demo"] * 2


@pytest.mark.parametrize("plan", [talking(single()), talking(with_tools())])
async def test_a_conversation_stays_with_its_fallback(plan: Plan) -> None:
    _, asked, state = await ran(plan, {"scripted/demo"})
    assert asked == ["scripted/demo", "second/big/one", "second/big/one"]
    assert state.conversation_models == {"talk": "second/big/one"}


@pytest.mark.parametrize("plan", [single(), with_tools()])
async def test_an_agent_without_a_conversation_begins_with_its_own_model_each_time(
    plan: Plan,
) -> None:
    data = plan.model_dump(mode="json", by_alias=True, exclude_defaults=True)
    (act,) = data["teams"]["work"]["steps"]
    data["teams"]["work"]["steps"] = [act, {**act, "name": "again"}]
    _, asked, state = await ran(Plan.model_validate(data).with_digest(), {"scripted/demo"})
    assert asked == ["scripted/demo", "second/big/one"] * 2
    assert state.conversation_models == {}


@pytest.mark.parametrize("plan", [talking(single()), talking(with_tools())])
async def test_a_conversation_whose_model_answers_remembers_no_fallback(plan: Plan) -> None:
    _, asked, state = await ran(plan, set())
    assert asked == ["scripted/demo"] * 2
    assert state.conversation_models == {}


async def test_usage_counts_for_the_model_that_answered() -> None:
    def model(request: AgentRequest, number: int) -> AgentResponse:
        return AgentResponse(data={"text": "x"}, usage=TokenUsage(5, 2), cost=0.1)

    _, _, state = await ran(single(), {"scripted/demo"}, model)
    tallies = {one.model: one.output_tokens for one in state.tallies.values()}
    assert tallies["second/big/one"] == 2
    assert tallies.get("scripted/demo", 0) == 0


async def test_hooks_are_asked_before_the_call_of_each_model() -> None:
    hook: Json = {
        "name": "local_only",
        "on": "before_model_call",
        "when": {"expression": "{{ not model.startswith('scripted/') }}"},
        "decide": "reject",
    }
    result, asked, state = await ran(single(hooks=[hook]), {"scripted/demo"})
    assert asked == ["scripted/demo"]
    assert [c.hook for c in (e.cause for e in state.trail) if isinstance(c, HookDecided)] == [
        "local_only"
    ]
    assert result.error is not None
    assert "HookRejected" in result.error.message


async def test_a_request_carries_no_fallbacks() -> None:
    requests: list[AgentRequest] = []

    def model(request: AgentRequest, number: int) -> AgentResponse:
        requests.append(request)
        return answer("done")

    await ran(single(), set(), model)
    assert requests[0].persona is not None
    assert requests[0].persona.fallback == ()
