"""Inputs that a step cannot use: a failure that says what is wrong, before anything is called."""

import pytest

from coterie.activities.contracts import AgentRequest, FunctionRequest
from coterie.dsl.values import Json, JsonValue
from coterie.workflows.core.state_parts import SessionMessage
from coterie.workflows.interpreter import run
from coterie.workflows.sessions.message_queue import MAX_REPLY_SIZE
from tests.support.compiling import plan_of
from tests.support.simulation.stopping import StoppingScope, World, fresh, undisturbed
from tests.support.tool_agents import MODEL, QUERY, READ, tool_plan

AGENT: Json = {**MODEL, "prompts": {"user": "Help with {{ input.query }}."}}
TOOL_FUNCTION: Json = {"skill": "Clock.now", "terms": READ, "input_schema": QUERY}
NOT_TEXT = "InvalidArguments: the tool 'helper': arguments.query is a number, not a text"


def tool_step(tool: str) -> Json:
    return {
        "name": "call",
        "kind": "tool",
        "tool": tool,
        "arguments": "{{ context.given }}",
        "on_failure": "continue",
    }


@pytest.mark.parametrize(
    ("tool", "given", "ended"),
    [
        ("helper", {"query": "x"}, "called"),
        ("helper", {"query": 7}, NOT_TEXT),
        (
            "helper",
            [1],
            "InvalidArguments: the arguments of the tool 'helper' are a list, not a mapping",
        ),
        ("clock", {"query": 7}, "called"),
        ("clock", None, "called"),
        (
            "clock",
            [1],
            "InvalidArguments: the arguments of the tool 'clock' are a list, not a mapping",
        ),
    ],
)
async def test_a_tool_step_takes_a_mapping_that_fits_an_agent_while_a_function_checks_its_own(
    tool: str, given: JsonValue, ended: str
) -> None:
    of = tool_plan(
        {"helper": {"agent": "helper", "input_schema": QUERY}, "clock": TOOL_FUNCTION},
        {"actor": AGENT, "helper": AGENT},
        step={"agent_type": "generic_single_shot"},
        teams={"work": {"id": "work", "steps": [tool_step(tool)]}},
    )
    state = fresh(of, {"given": given})
    world = World(lambda _: {"n": 1})
    await run(StoppingScope(of, state, world, None))
    outcome = state.main.latest["work"]["call"]
    error = outcome.error
    assert ("called" if error is None else f"{error.type}: {error.message}") == ended
    assert len(world.calls) == (ended == "called")


DECLARED = """
orchestration:
  entry_team: work
  context: {count: {type: integer, default: 0}, given: {}}
  teams:
    work:
      tasks:
        - name: call
          type: team
          team: sub
          input: {count: "{{ context.given }}"}
          on_failure: continue
        - name: seen
          type: set
          values:
            v: "{{ tasks.call.error.type if tasks.call.error else tasks.call.data.output }}"
    sub:
      tasks: [{name: note, type: set, values: {n: "{{ context.count }}"}}]
"""


@pytest.mark.parametrize(
    ("given", "seen"),
    [(3, {"note": {"n": 3}}), ("many", "InvalidContext")],
)
async def test_a_called_team_takes_an_input_that_fits_the_declared_context(
    given: JsonValue, seen: JsonValue
) -> None:
    plan = plan_of(DECLARED)
    result, _ = await undisturbed(plan, {"given": given}, lambda _: {})
    assert isinstance(result.output, dict)
    assert result.output["seen"] == {"v": seen}


@pytest.mark.parametrize(
    ("declared", "default", "failed"), [("integer", 1, True), ("string", "x", False)]
)
async def test_a_team_that_a_model_or_a_tool_step_calls_takes_such_an_input_too(
    declared: str, default: JsonValue, failed: bool
) -> None:
    of = tool_plan(
        {"sub": {"team": "sub"}},
        {"actor": AGENT},
        step={"agent_type": "generic_single_shot"},
        teams={
            "work": {"id": "work", "steps": [tool_step("sub")]},
            "sub": {"id": "sub", "steps": [{"name": "n", "kind": "set", "values": {"a": 1}}]},
        },
        context={"count": {"schema": {"type": declared}, "default": default}, "given": {}},
    )
    state = fresh(of, {"given": {"count": "many"}})
    await run(StoppingScope(of, state, World(lambda _: {}), None))
    error = state.main.latest["work"]["call"].error
    assert (error is not None and error.type) == ("InvalidContext" if failed else False)


REPLYING = """
orchestration:
  entry_team: work
  teams:
    work:
      tasks:
        - {name: hear, type: wait, message: true, when: "{{ false }}"}
        - {name: say, type: reply, value: "{{ context.value }}", on_failure: continue}
"""


@pytest.mark.parametrize(
    ("value", "is_open", "error"),
    [("x", False, "NoMessage"), ("x" * MAX_REPLY_SIZE, True, "ReplyTooLarge"), ("x", True, None)],
)
async def test_a_reply_needs_an_open_message_and_is_small(
    value: str, is_open: bool, error: str | None
) -> None:
    plan = plan_of(REPLYING)
    state = fresh(plan, {"value": value})
    if is_open:
        state.session.open = SessionMessage("m1", "hello", "ann")

    def answer(request: AgentRequest | FunctionRequest) -> Json:
        return {}

    await run(StoppingScope(plan, state, World(answer), None))
    found = state.main.latest["work"]["say"].error
    assert (None if found is None else found.type) == error
    assert ("m1" in state.session.replies) == (error is None)
