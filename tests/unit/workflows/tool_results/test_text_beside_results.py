"""What a tool says beside its JSON reaches everybody who reads the result."""

import pytest

from coterie.activities.contracts import (
    AgentRequest,
    AgentResponse,
    FunctionRequest,
    FunctionResult,
)
from coterie.dsl.model.outcomes import Outcome
from coterie.dsl.values import Json, JsonValue
from coterie.workflows.agents.shared_work import note_tool_result
from coterie.workflows.core.location import Location
from coterie.workflows.core.messages import DecideInput
from coterie.workflows.core.requests import Pending
from coterie.workflows.core.scope import Call
from coterie.workflows.core.state import RunState
from coterie.workflows.core.state_keys import MAIN
from coterie.workflows.interpreter import run
from tests.support.runs import task_data
from tests.support.simulation.stopping import World, fresh
from tests.support.tool_agents import (
    QUERY,
    ModelScope,
    ModelWorld,
    answer,
    calls,
    function_tool,
    persona,
    tool_plan,
)

SAID = "The whole file."
RESULT: Json = {"path": "a.txt"}
SEARCH = function_tool(input_schema=QUERY)
GIVEN: Json = {"query": "x"}


class SayingScope(ModelScope):
    """A scope whose tools say something beside their JSON."""

    shown: JsonValue = None
    editable = False

    async def call_function(self, request: FunctionRequest, call: Call) -> FunctionResult:
        result = await super().call_function(request, call)
        return result.model_copy(update={"text": SAID})

    def decision_about(self, request: Pending) -> DecideInput:
        self.shown = request.show
        payload: JsonValue = {"path": "b.txt"} if self.editable else None
        return DecideInput(id=request.id, decision="approve", by="ann", payload=payload)


async def ran(
    tool: Json,
    *hooks: Json,
    turns: int = 1,
    tasks: list[Json] | None = None,
    editable: bool = False,
) -> tuple[SayingScope, RunState, list[str], Json]:
    """The run of an agent that calls the tool, and what its model reads of the results."""

    def model(request: AgentRequest, number: int) -> AgentResponse:
        return calls(("search", GIVEN)) if number <= turns else answer("done")

    plan = tool_plan({"search": tool}, {"actor": persona("search", hooks=[*hooks])}, tasks=tasks)
    state, world = fresh(plan, {}), ModelWorld(model, lambda _: RESULT)
    scope = SayingScope(plan, state, world, None)
    scope.editable = editable
    result = await run(scope)
    read = [
        one.text
        for request in world.requests
        if request.tool_turn is not None
        for one in request.tool_turn.results
    ]
    return scope, state, read, task_data(result)


def hook(**keys: JsonValue) -> Json:
    return {"name": "look", "on": "after_tool_call", **keys}


BOTH = f'{{"path":"a.txt"}}\n{SAID}'


async def test_a_model_reads_it_also_when_a_hook_needs_the_result() -> None:
    reads = hook(decide="reject", when={"expression": "{{ result.path == 'no' }}"})
    assert (await ran(SEARCH, reads))[2] == [BOTH]


async def test_a_hook_reads_it_and_what_it_changes_replaces_it() -> None:
    when: Json = {"expression": "{{ 'whole' in text }}"}
    refused = await ran(SEARCH, hook(decide="reject", when=when, message="no files"))
    assert "no files" in refused[2][0]
    changes = hook(decide="modify", when=when, value={"path": "hidden"})
    assert SAID not in (await ran(SEARCH, changes))[2][0]


@pytest.mark.parametrize("editable", [False, True])
async def test_a_person_who_approves_a_result_sees_all_that_passes(editable: bool) -> None:
    terms: Json = {"at": "after", "editable": editable}
    asked = function_tool(input_schema=QUERY, requires_approval=terms)
    scope, _, read, _ = await ran(asked, editable=editable)
    if editable:
        assert (scope.shown, read) == (RESULT, ['{"path":"b.txt"}'])
    else:
        assert (scope.shown, read) == ({"result": RESULT, "text": SAID}, [BOTH])


async def test_an_equal_call_gets_it_from_the_cache() -> None:
    reads = hook(decide="reject", when={"expression": "{{ result.path == 'no' }}"})
    cached = function_tool(input_schema=QUERY, cache="run")
    scope, _, read, _ = await ran(cached, reads, turns=2)
    assert (read, len(scope.world.calls)) == ([BOTH, BOTH], 4)


async def test_a_step_reads_it_and_a_prompt_that_shows_its_task() -> None:
    tasks: list[Json] = [
        {"name": "look", "kind": "tool", "tool": "search", "arguments": GIVEN},
        {
            "name": "end",
            "kind": "return",
            "value": "{{ [tasks.look.text, tasks.look, tasks.act.text] }}",
        },
    ]
    data = (await ran(SEARCH, tasks=tasks))[3]["end"]
    view: Json = {"success": True, "status": "success", "data": RESULT, "error": None, "text": SAID}
    assert data == [SAID, view, ""]


def test_another_agent_reads_it() -> None:
    plan = tool_plan({"search": SEARCH}, {"actor": persona("search")})
    scope = SayingScope(plan, fresh(plan, {}), World(lambda _: {}), None)
    agent = Location.of_visit(MAIN, "work", 1).at("act")
    note_tool_result("search", Outcome.succeeded(RESULT, SAID), agent, scope)
    assert scope.state.progress.unpublished[agent.key] == [f'search: {{"path": "a.txt"}}\n{SAID}']
