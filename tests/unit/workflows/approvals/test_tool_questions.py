"""Questions of tools: a person answers them, and nothing is asked or called twice."""

from collections.abc import Callable

import pytest

from coterie.activities.contracts import AgentRequest, AgentResponse, FunctionRequest
from coterie.dsl.model.plan import Plan
from coterie.dsl.model.tools.asked_input import AskedForm, AskedInput
from coterie.dsl.tool_loop.input_questions import (
    answers_of,
    input_form,
    input_prompt,
    suggested_input,
)
from coterie.dsl.values import Json, JsonValue
from tests.support.simulation.egress_runs import ANY, Ran, ran
from tests.support.tool_agents import answer, calls, function_tool, persona, tool_plan

SURE: Json = {
    "type": "object",
    "properties": {"sure": {"type": "boolean"}},
    "required": ["sure"],
}
NAME: Json = {"type": "object", "properties": {"name": {"type": "string", "default": "cat"}}}
REMOVE: tuple[str, Json] = ("remove", {"path": "a"})
LOOK: tuple[str, Json] = ("look", {"path": "b"})


def asks(key: str, form: Json = SURE, **more: JsonValue) -> Json:
    """The failure of a call that asks."""
    questions: Json = {key: {"message": f"Sure of {key}?", "form": form}}
    return {"fails": "InputRequired", "asks": {"questions": questions, **more}}


def plan(
    terms: JsonValue = False, budgets: list[JsonValue] | None = None, **of_tool: JsonValue
) -> Plan:
    remove = function_tool("files/remove", input_schema=ANY, requires_approval=terms, **of_tool)
    tools = {"remove": remove, "look": function_tool("Files.look", input_schema=ANY)}
    return tool_plan(tools, {"actor": persona(*tools)}, budgets=budgets or [])


def model(*turns: list[tuple[str, Json]]) -> Callable[[AgentRequest, int], AgentResponse]:
    def take(_: AgentRequest, number: int) -> AgentResponse:
        return calls(*turns[number - 1]) if number <= len(turns) else answer("done")

    return take


def once_asked(request: FunctionRequest) -> JsonValue:
    """A server that asks, and then says what it got."""
    if request.skill != "files/remove":
        return "looked"
    if request.given_input is None:
        return asks("q", state="s1")
    return {**request.given_input.model_dump(include={"answers"})}


def results(one: Ran) -> list[str]:
    turn = one.world.requests[-1].tool_turn
    assert turn is not None
    return [result.text for result in turn.results]


@pytest.mark.parametrize("everywhere", [False, True])
@pytest.mark.parametrize("terms", [False, {"at": "before"}, {"at": "after"}])
async def test_a_call_of_an_agent_that_asks_is_made_again_with_the_answer(
    terms: JsonValue, everywhere: bool
) -> None:
    one = await ran(
        plan(terms),
        model([REMOVE, LOOK]),
        lambda _: "approve",
        once_asked,
        everywhere=everywhere,
        payload={"sure": True},
    )
    questions = [request for request in one.asked if request.id.endswith("/input#1")]
    assert [request.id for request in questions] == ["work/act/remove@1.1/input#1"]
    assert questions[0].prompt == (
        'The tool \'files/remove\' (called with {"path": "a"}) asks: Sure of q?'
    )
    assert (questions[0].payload_schema, questions[0].show) == (SURE, {})
    assert len(one.asked) == 1 + bool(terms)
    made = [call for call in one.world.made if call.skill == "files/remove"]
    assert [call.given_input is None for call in made] == [True, False]
    assert made[1].given_input is not None
    assert made[1].given_input.asked.state == "s1"
    assert made[1].given_input.by == "ann"
    assert made[0].key == made[1].key
    assert len(one.world.made) == 3
    assert results(one) == ['{"answers":{"q":{"sure":true}}}', "looked"]
    assert one.state.progress.call_inputs == {}


@pytest.mark.parametrize("everywhere", [False, True])
async def test_a_person_who_rejects_a_question_ends_the_call_for_the_model(
    everywhere: bool,
) -> None:
    one = await ran(plan(), model([REMOVE]), lambda _: "reject", once_asked, everywhere=everywhere)
    assert results(one) == ["Rejected: ann rejected it: so"]
    assert len(one.world.made) == 1
    assert one.state.progress.call_inputs == {}


@pytest.mark.parametrize("everywhere", [False, True])
async def test_a_call_that_starts_again_gets_all_answers_so_far(everywhere: bool) -> None:
    def function(request: FunctionRequest) -> JsonValue:
        known = {} if request.given_input is None else request.given_input.answers
        missing = [key for key in ("a", "b", "c") if key not in known]
        return asks(missing[0], NAME, within_call=True) if missing else {**known}

    one = await ran(plan(), model([REMOVE]), lambda _: "approve", function, everywhere=everywhere)
    assert [request.show for request in one.asked] == [{"name": "cat"}] * 3
    cat: Json = {"name": "cat"}
    assert one.world.made[-1].given_input is not None
    assert one.world.made[-1].given_input.answers == {"a": cat, "b": cat, "c": cat}
    assert len(one.world.made) == 4


async def test_a_call_that_continues_gets_only_the_answers_to_its_last_questions() -> None:
    def function(request: FunctionRequest) -> JsonValue:
        state = None if request.given_input is None else request.given_input.asked.state
        return {None: asks("a", NAME, state="1"), "1": asks("b", NAME, state="2")}.get(state, "ok")

    one = await ran(plan(), model([REMOVE]), lambda _: "approve", function)
    assert one.world.made[-1].given_input is not None
    assert list(one.world.made[-1].given_input.answers) == ["b"]


async def test_a_call_may_ask_ten_times() -> None:
    one = await ran(plan(), model([REMOVE]), lambda _: "approve", lambda _: asks("q", NAME))
    assert len(one.asked) == 10
    assert results(one) == [
        "InputRequired: files/remove has asked 10 times and still does not answer"
    ]
    assert one.state.progress.call_inputs == {}


@pytest.mark.parametrize("everywhere", [False, True])
@pytest.mark.parametrize("turns", [([REMOVE], [REMOVE]), ([REMOVE, REMOVE],)])
async def test_an_answer_serves_no_other_call_and_is_not_remembered(
    turns: tuple[list[tuple[str, Json]], ...], everywhere: bool
) -> None:
    terms: Json = {"remember": True, "approvers": ["ann"], "when": {"expression": "{{ false }}"}}
    of = plan(terms, cache="run")
    sure: Json = {"sure": True}
    one = await ran(
        of, model(*turns), lambda _: "approve", once_asked, everywhere=everywhere, payload=sure
    )
    assert [request.approvers for request in one.asked] == [("ann",), ("ann",)]
    assert len(one.world.made) == 4


@pytest.mark.parametrize("everywhere", [False, True])
async def test_a_question_is_not_asked_again_when_a_budget_asks_before_the_call_is_made_again(
    everywhere: bool,
) -> None:
    def function(request: FunctionRequest) -> JsonValue:
        return asks("q", NAME) if request.given_input is None else "ok"

    of = plan(budgets=[{"kind": "tool_calls", "limit": 1, "on_exceeded": "ask"}])
    one = await ran(of, model([REMOVE]), lambda _: "approve", function, everywhere=everywhere)
    assert [request.id.partition("#")[0] for request in one.asked] == [
        "work/act/remove@1.1/input",
        "work/budget/run.tool_calls",
    ]
    assert results(one) == ["ok"]
    assert len({call.key for call in one.world.made}) == 1


TWO = AskedInput(
    questions={
        "a": AskedForm(message="One?", form=SURE),
        "b": AskedForm(message="Two?", form=NAME),
    }
)


def test_several_questions_are_one_form_with_a_key_for_each() -> None:
    assert input_prompt("a/b", "s/t", TWO, {}) == "The tool 's/t' asks: One?; Two?"
    plain = TWO.model_copy(update={"is_plain": True})
    assert input_prompt("a/b", "Person.ask", plain, {"q": 1}) == "a/b asks: One?; Two?"
    assert suggested_input(TWO) == {"a": {}, "b": {"name": "cat"}}
    form = input_form(TWO)
    assert (form["properties"], form["required"]) == ({"a": SURE, "b": NAME}, ["a", "b"])
    given: Json = {"a": {"sure": True}, "b": {"name": "x"}}
    assert answers_of(TWO, given) == given


def test_defaults_of_a_form_without_fields_are_empty() -> None:
    one = AskedInput(questions={"a": AskedForm(message="Go?", form={"type": "object"})})
    assert (suggested_input(one), answers_of(one, {})) == ({}, {"a": {}})
