"""Agents that ask a model once: how often it is asked again, and what it learns."""

import json

import pytest

from coterie.activities.contracts import AgentRequest, AgentResponse, TokenUsage
from coterie.dsl.model.plan import Plan
from coterie.dsl.values import Json, JsonValue
from coterie.workflows.core.results import RunFailed
from coterie.workflows.core.views import TeamResult
from coterie.workflows.interpreter import run
from tests.support.simulation.stopping import fresh
from tests.support.tool_agents import (
    MODEL,
    ExtendingScope,
    ModelScope,
    ModelWorld,
    answer,
    tool_plan,
    unusable,
)


def single(hooks: list[JsonValue] | None = None, **keys: JsonValue) -> Plan:
    actor: Json = {**MODEL, "prompts": {"user": "Do it."}, "hooks": hooks or [], **keys}
    return tool_plan({}, {"actor": actor}, step={"agent_type": "generic_single_shot"})


async def asked(plan: Plan, *answers: AgentResponse) -> tuple[list[AgentRequest], TeamResult]:
    """The requests of a run whose model gives these answers, the last one again and again."""
    left = list(answers)
    world = ModelWorld(lambda _, __: left.pop(0) if len(left) > 1 else left[0], lambda _: None)
    result = await run(ModelScope(plan, fresh(plan, {}), world, None))
    return world.requests, result


@pytest.mark.parametrize("allowed", [0, 1, 3])
async def test_an_unusable_answer_is_asked_again_as_often_as_the_persona_says(allowed: int) -> None:
    world = ModelWorld(lambda _, __: unusable("no JSON"), lambda _: None)
    plan = single(max_reasks=allowed)
    with pytest.raises(RunFailed, match="no JSON"):
        await run(ModelScope(plan, fresh(plan, {}), world, None))
    reasks = [one.reask and (one.reask.number, one.reask.problem) for one in world.requests]
    assert reasks == [None, *((number, "no JSON") for number in range(1, allowed + 1))]


REFUSES: Json = {
    "name": "refuses",
    "on": "after_model_call",
    "when": {"expression": "{{ answer != {'text': 'good'} }}"},
    "decide": "retry",
    "message": "Not this.",
    "max_retries": 2,
}
REFUSED = "the hook 'refuses' decided to retry: Not this."


async def test_what_a_hook_refuses_does_not_count_as_unusable() -> None:
    plan = single(hooks=[REFUSES], max_reasks=1)
    requests, result = await asked(
        plan, answer("bad"), unusable("no JSON"), answer("worse"), answer("good")
    )
    assert result.end == "completed"
    assert [one.reask and (one.reask.number, one.reask.problem) for one in requests] == [
        None,
        (1, REFUSED),
        (2, "no JSON"),
        (3, REFUSED),
    ]


@pytest.mark.parametrize(
    ("data", "text"),
    [
        ({"text": "é"}, "é"),
        ({"text": {"a": "é"}}, '{"text": {"a": "é"}}'),
        ({"text": "é", "more": 1}, '{"text": "é", "more": 1}'),
        ({"other": "é"}, '{"other": "é"}'),
        (["é"], '["é"]'),
        (None, "null"),
    ],
    ids=json.dumps,
)
async def test_a_refused_answer_is_shown_to_the_model_as_it_gave_it(
    data: JsonValue, text: str
) -> None:
    requests, _ = await asked(single(hooks=[REFUSES]), AgentResponse(data=data), answer("good"))
    reask = requests[1].reask
    assert reask is not None
    assert (reask.number, reask.answer) == (1, text)


@pytest.mark.parametrize("given", ["{", None])
async def test_an_unusable_answer_is_shown_to_the_model(given: str | None) -> None:
    first = unusable("no JSON").model_copy(update={"answer": given})
    requests, _ = await asked(single(max_reasks=1), first, answer("good"))
    reask = requests[1].reask
    assert reask is not None
    assert (reask.answer, reask.problem) == (given or "", "no JSON")


NOTES: Json = {
    "name": "notes",
    "on": "before_model_call",
    "decide": "modify",
    "value": "{{ agent }} of {{ task }} asks {{ model }}, turn {{ turn }}",
}


async def test_a_hook_knows_who_asks_which_model_at_which_turn() -> None:
    plan = single(hooks=[NOTES], max_reasks=2)
    requests, _ = await asked(plan, unusable("no JSON"), unusable("no JSON"), answer("good"))
    assert [one.notices for one in requests] == [
        (f"actor of act asks scripted/demo, turn {number}",) for number in (1, 2, 3)
    ]


async def test_an_agent_of_ones_own_class_gets_no_notes() -> None:
    own: Json = {"agent_class": "my.Agent", "agent_type": None, "persona_key": None}
    (request,), _ = await asked(tool_plan({}, {}, step=own, hooks=[NOTES]), answer("done"))
    assert request.notices == ()


async def test_a_model_that_is_asked_again_learns_what_is_left_of_a_budget() -> None:
    actor: Json = {**MODEL, "prompts": {"user": "Do it."}, "max_reasks": 1}
    budget: Json = {"scope": "run", "kind": "tokens", "limit": 100, "warn_at": 0.5}
    step: Json = {"agent_type": "generic_single_shot"}
    plan = tool_plan({}, {"actor": actor}, step=step, budgets=[budget])
    used = unusable("no JSON").model_copy(update={"usage": TokenUsage(input_tokens=80)})
    (first, second), _ = await asked(plan, used, answer("good"))
    assert (first.notices, len(second.notices)) == ((), 1)


async def test_a_run_stays_between_an_answer_and_its_re_ask_while_a_budget_asks() -> None:
    actor: Json = {**MODEL, "prompts": {"user": "Do it."}, "max_reasks": 1}
    budget: Json = {"scope": "run", "kind": "model_calls", "limit": 1, "on_exceeded": "ask"}
    step: Json = {"agent_type": "generic_single_shot"}
    plan = tool_plan({}, {"actor": actor}, step=step, budgets=[budget])
    left = [unusable("no JSON"), answer("good")]
    world = ModelWorld(lambda _, __: left.pop(0), lambda _: None)
    scope = ExtendingScope(plan, fresh(plan, {}), world, None)
    assert (await run(scope)).end == "completed"
    assert scope.boundaries == [False]
