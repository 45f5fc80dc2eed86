"""An agent type of a package runs in its own process and asks its model through the worker."""

import asyncio
import os
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest
import pytest_asyncio
from temporalio.exceptions import ApplicationError

from coterie.activities.agent_activity import AgentActivities
from coterie.activities.agents.extension_agent import extension_agent
from coterie.activities.agents.inner_calls import InnerCalls
from coterie.activities.contracts import (
    AgentResponse,
    FailureType,
    FunctionRequest,
    FunctionResult,
    InnerCall,
    Spent,
)
from coterie.activities.providers.provider_failures import ProviderFailure
from coterie.activities.tool_functions.function_registry import contracts
from coterie.activities.user_code.child_messages import UserCodeTimeout
from coterie.activities.user_code.child_pool import UserCode
from coterie.activities.user_code.extension_messages import ExtensionTurn
from coterie.dsl.model.capabilities import Reach
from coterie.dsl.model.plan import Persona
from coterie.dsl.values import Json, JsonValue
from tests.support.agents import RecordingModel, answer, environment, persona, request, turn

AGENTS = """
import asyncio, os
from coterie import AgentFailure

async def asks(turn):
    first = await turn.ask()
    both = await asyncio.gather(turn.ask("b"), turn.ask("c", system="other"))
    return {"name": turn.name, "said": [first, *both], "inputs": turn.inputs}

async def calls(turn):
    return await turn.call_function("Calculator.evaluate", {"expression": "1"})

async def reads(turn):
    for name in ("Files.read", "Files.read", "Files.write", turn.inputs["input"]):
        await turn.call_function(name, {})

async def gives(turn):
    return turn.inputs["input"]

async def gives_up(turn):
    raise AgentFailure("nobody knows")

async def breaks(turn):
    raise RuntimeError("broken")

async def dies(turn):
    os._exit(3)

def plain(turn):
    return "no coroutine"

loops, late = [], []

async def leaves(turn):
    async def later():
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        late.append("a task of an earlier call")
    kept = asyncio.create_task(later())
    loops.append(asyncio.get_running_loop())
    return [os.getpid(), len(set(loops)), late]

async def holds(turn):
    with open(turn.inputs["input"], "w") as pipe:
        pipe.write("began")
    with open(turn.inputs["input"]) as pipe:
        return pipe.read()
"""
SCHEMA: Json = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}


@pytest_asyncio.fixture
async def user_code(tmp_path: Path) -> AsyncGenerator[UserCode]:
    (tmp_path / "my_agents.py").write_text(AGENTS)
    made = UserCode(tmp_path, {}, (str(tmp_path),))
    yield made
    await made.close()


async def ran(
    user_code: UserCode,
    name: str,
    model: RecordingModel | None = None,
    who: Persona | None = None,
    inputs: Json | None = None,
) -> AgentResponse:
    async def call_function(asked: FunctionRequest) -> FunctionResult:
        if asked.input == {} and asked.skill == "Files.view":
            raise ApplicationError("no such file", type=FailureType.FUNCTION_FAILED)
        return FunctionResult(data=[asked.skill, asked.input])

    activities = AgentActivities(
        model or RecordingModel(),
        agent_types={"mine": extension_agent(f"my_agents:{name}")},
        call_function=call_function,
        inner_calls=InnerCalls(contracts(), Reach(trusted_paths=("**",))),
        user_code=user_code,
    )
    return await turn(activities, request(inputs, who, {"agent_type": "mine"}))


async def test_its_questions_are_answered_and_paid_by_the_worker(user_code: UserCode) -> None:
    model = RecordingModel(answer("one"), answer("two"), answer("three"))
    who = persona(prompts={"system": "You vote.", "user": "Go {{ input }}."})
    response = await ran(user_code, "asks", model, who, {"input": "on"})
    assert response.data == {
        "name": "design",
        "said": ["one", "two", "three"],
        "inputs": {"input": "on"},
    }
    assert response.usage is not None
    assert response.usage.input_tokens == 3 * 120
    asked = sorted((one.messages[0].text, one.system or "") for one in model.requests)
    assert asked == [("Go on.", "You vote."), ("b", "You vote."), ("c", "other")]
    assert sorted(one.turn for one in model.requests) == [1, 2, 3]
    assert [one.call.rpartition("/")[2] for one in model.requests] == ["1", "2", "3"]


async def test_it_may_call_functions(user_code: UserCode) -> None:
    response = await ran(user_code, "calls")
    assert response.data == ["Calculator.evaluate", {"expression": "1"}]


READ = InnerCall(skill="Files.read", effect="read", labels=("private",))
WRITE = InnerCall(skill="Files.write", effect="idempotent")


async def test_the_run_learns_which_functions_it_called(user_code: UserCode) -> None:
    response = await ran(user_code, "reads", inputs={"input": "Calculator.evaluate"})
    assert response.success
    assert response.inner_calls == (
        READ,
        WRITE,
        InnerCall(skill="Calculator.evaluate", effect="read"),
    )


async def test_it_may_call_no_function_that_sends_data_out(user_code: UserCode) -> None:
    with pytest.raises(ApplicationError) as caught:
        await ran(user_code, "reads", inputs={"input": "Web.fetch"})
    assert (caught.value.type, caught.value.non_retryable) == (FailureType.AGENT_REFUSED, True)
    assert "cannot call Web.fetch: it sends data out (egress)" in caught.value.message
    assert "Call it in a step, with `tool:` or `skill:`" in caught.value.message
    spent = Spent.model_validate(caught.value.details[0])
    assert spent.inner_calls == (READ, WRITE)


async def test_the_run_learns_it_also_from_a_turn_that_failed(user_code: UserCode) -> None:
    with pytest.raises(ApplicationError, match="no such file") as caught:
        await ran(user_code, "reads", inputs={"input": "Files.view"})
    assert (caught.value.type, caught.value.non_retryable) == (FailureType.FUNCTION_FAILED, False)
    spent = Spent.model_validate(caught.value.details[0])
    assert [one.skill for one in spent.inner_calls] == ["Files.read", "Files.write", "Files.view"]


@pytest.mark.parametrize(
    ("given", "schema", "data"),
    [
        ("plain", None, {"text": "plain"}),
        ([1, {"b": None}], None, [1, {"b": None}]),
        ({"a": 1}, SCHEMA, {"a": 1}),
        ('So: {"a": 1}', SCHEMA, {"a": 1}),
    ],
)
async def test_its_result_is_data(
    user_code: UserCode, given: JsonValue, schema: Json | None, data: JsonValue
) -> None:
    who = persona(output_schema=schema)
    response = await ran(user_code, "gives", who=who, inputs={"input": given})
    assert (response.success, response.data) == (True, data)


async def test_a_result_against_the_schema_is_unusable(user_code: UserCode) -> None:
    who = persona(output_schema=SCHEMA)
    response = await ran(user_code, "gives", who=who, inputs={"input": {"a": "x"}})
    assert response.error is not None
    assert response.error.type == FailureType.ANSWER_UNUSABLE
    assert "does not match the output schema" in response.error.message


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("gives_up", "my_agents:gives_up: nobody knows"),
        ("breaks", "my_agents:breaks: raised RuntimeError: broken (my_agents.py:"),
        ("dies", "my_agents:dies: its process ended with exit code 3"),
        ("plain", "my_agents:plain: is not an async function; define it with `async def`"),
    ],
)
async def test_a_turn_that_fails_says_why(user_code: UserCode, name: str, message: str) -> None:
    response = await ran(user_code, name)
    assert response.error is not None
    assert response.error.type == FailureType.AGENT_FAILED
    assert message in response.error.message


async def test_calls_share_an_event_loop_and_no_tasks(user_code: UserCode) -> None:
    first, second = [(await ran(user_code, "leaves")).data for _ in range(2)]
    assert first == second, "the same process and loop, and nothing of the first call"


async def test_the_wait_for_a_process_is_not_the_time_of_the_call(
    user_code: UserCode, tmp_path: Path
) -> None:
    few = UserCode(tmp_path, {}, (str(tmp_path),), max_children=1, start_seconds=0.2)
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    holding = asyncio.create_task(ran(few, "holds", inputs={"input": str(fifo)}))
    assert await asyncio.to_thread(fifo.read_text) == "began"
    turn = ExtensionTurn(agent="my_agents:gives", turn={"name": "x", "prompt": "", "inputs": {}})
    with pytest.raises(UserCodeTimeout, match=r"did not start within 0.2 s: all 1 "):
        await few.extend(turn, turn.agent, 0.01, _no_notes)
    await asyncio.to_thread(fifo.write_text, "go on")
    assert (await holding).data == {"text": "go on"}
    await few.close()


async def test_a_turn_that_takes_too_long_names_its_agent_type(
    user_code: UserCode, tmp_path: Path
) -> None:
    os.mkfifo(tmp_path / "fifo")
    agent = extension_agent("my_agents:holds")
    activities = AgentActivities(RecordingModel(), agent_types={"mine": agent}, user_code=user_code)
    asked = request({"input": str(tmp_path / "fifo")}, persona(), {"agent_type": "mine"})
    with pytest.raises(ApplicationError, match="task 'design': mine did not end within") as caught:
        await environment(0.5).run(activities.run_agent, asked)
    assert caught.value.type == FailureType.TIMEOUT


async def _no_notes(_: bytes) -> None: ...


async def test_a_failure_of_its_model_ends_the_attempt(user_code: UserCode) -> None:
    busy = ProviderFailure(FailureType.RATE_LIMITED, "slow down", retryable=True)
    with pytest.raises(ApplicationError, match="slow down") as caught:
        await ran(user_code, "asks", RecordingModel(busy))
    assert caught.value.type == FailureType.RATE_LIMITED
    assert not caught.value.non_retryable


async def test_a_function_that_does_not_exist_is_refused_with_the_nearest(
    user_code: UserCode,
) -> None:
    with pytest.raises(ApplicationError, match="did you mean 'gives_up'") as caught:
        await ran(user_code, "give_up")
    assert caught.value.type == FailureType.AGENT_REFUSED
