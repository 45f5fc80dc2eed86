"""A `tool` step with `calls`: concurrent calls, results in order, failures as items."""

import pytest

from coterie.activities.contracts import AgentRequest, FunctionRequest
from coterie.dsl.values import Json, JsonValue
from tests.support.compiling import plan_of, problems_of
from tests.support.simulation.stopping import stopped_everywhere, undisturbed

PLAN = """
tools:
  sum: {skill: Calculator.evaluate}
  look: {skill: Files.search}
orchestration:
  entry_team: a
  teams:
    a:
      tasks:
        - STEP
        - {name: end, type: return, value: "{{ tasks.both.data_or_error }}"}
"""
WRITTEN = """{name: both, on_failure: continue, calls: [
          {tool: sum, arguments: {expression: "{{ context.n }}+1"}},
          {tool: "{{ context.other | default('nothing') }}"},
          {tool: sum, arguments: {expression: "1/0"}}, {tool: look, arguments: {pattern: x}}]}"""
TEMPLATE = '{name: both, type: tool, on_failure: continue, calls: "{{ context.calls }}"}'


def answer(request: AgentRequest | FunctionRequest) -> Json:
    assert isinstance(request, FunctionRequest)
    assert isinstance(request.input, dict)
    if request.input.get("expression") == "1/0":
        return {"fails": "FunctionFailed"}
    return {"got": request.input}


async def results(step: str, context: Json, *, everywhere: bool = False) -> JsonValue:
    plan = plan_of(PLAN.replace("STEP", step))
    if everywhere:
        result, _ = await stopped_everywhere(plan, context, answer)
    else:
        result, _ = await undisturbed(plan, context, answer)
    assert isinstance(result.output, dict)
    return result.output["end"]


@pytest.mark.parametrize("everywhere", [False, True])
async def test_each_call_has_its_result_in_the_order_of_the_calls(everywhere: bool) -> None:
    data = await results(WRITTEN, {"n": 4}, everywhere=everywhere)
    assert isinstance(data, dict)
    made = data["results"]
    assert isinstance(made, list)
    items = [one for one in made if isinstance(one, dict)]
    assert [(one["tool"], one["success"]) for one in items] == [
        ("sum", True),
        ("nothing", False),
        ("sum", False),
        ("look", True),
    ]
    assert [one["data"] for one in items] == [
        {"got": {"expression": "4+1"}},
        None,
        None,
        {"got": {"pattern": "x"}},
    ]
    errors = [one["error"] for one in items]
    assert errors[0] is errors[3] is None
    assert isinstance(errors[1], dict)
    assert errors[1]["type"] == "UnknownTool"
    assert "tools: look, sum" in str(errors[1]["message"])
    assert errors[2] == {"type": "FunctionFailed", "message": "on purpose"}


async def test_one_template_gives_the_calls() -> None:
    calls: JsonValue = [{"tool": "look", "arguments": {"pattern": str(n)}} for n in range(30)]
    data = await results(TEMPLATE, {"calls": calls})
    assert isinstance(data, dict)
    assert data["completed"] is True
    made = data["results"]
    assert isinstance(made, list)
    found = [one["data"] for one in made if isinstance(one, dict)]
    assert found == [{"got": {"pattern": str(n)}} for n in range(30)]


async def test_no_calls_have_no_results() -> None:
    assert await results(TEMPLATE, {"calls": []}) == {
        "rounds": 0,
        "results": [],
        "completed": True,
    }


@pytest.mark.parametrize("calls", ["search", {"tool": "look"}, 3])
async def test_anything_else_is_no_list(calls: JsonValue) -> None:
    assert "of 'both' gives a" in str(await results(TEMPLATE, {"calls": calls}))


async def test_an_item_that_is_no_call_is_a_failed_item() -> None:
    calls: JsonValue = [{"name": "look"}, "look", {"tool": "look"}]
    data = await results(TEMPLATE, {"calls": calls})
    assert isinstance(data, dict)
    made = data["results"]
    assert isinstance(made, list)
    found = [(one["success"], one["tool"]) for one in made if isinstance(one, dict)]
    assert found == [(False, None), (False, None), (True, "look")]


@pytest.mark.parametrize("key", ["tool: sum", "arguments: {}"])
def test_keys_of_one_call_are_refused_beside_several(key: str) -> None:
    step = f"{{name: both, type: tool, calls: [], {key}}}"
    [problem] = problems_of(PLAN.replace("STEP", step))
    assert problem.code == "E107"
    assert problem.message.startswith(f"`{key.partition(':')[0]}` is part of one call")


def test_two_such_steps_have_steps_of_different_names() -> None:
    both = f"{WRITTEN}\n        - {WRITTEN.replace('name: both', 'name: more')}"
    assert problems_of(PLAN.replace("STEP", both)) == ()
