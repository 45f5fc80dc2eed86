"""An agent type of a package runs in its own process and asks its model through the worker."""

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest
import pytest_asyncio
from temporalio.exceptions import ApplicationError

from activities.agent_activity import AgentActivities
from activities.agents.extension_agent import extension_agent
from activities.contracts import AgentResponse, FailureType, SkillRequest, SkillResult
from activities.providers.provider_failures import ProviderFailure
from activities.user_code.child_pool import UserCode
from dsl.model.plan import Persona
from dsl.values import Json, JsonValue
from tests.support.agents import RecordingModel, answer, persona, request, turn

AGENTS = """
import asyncio, os
from coterie import AgentFailure

async def asks(turn):
    first = await turn.ask()
    both = await asyncio.gather(turn.ask("b"), turn.ask("c", system="other"))
    return {"name": turn.name, "said": [first, *both], "inputs": turn.inputs}

async def calls(turn):
    return await turn.call_skill("Calculator.evaluate", {"expression": "1"})

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
    async def call_skill(asked: SkillRequest) -> SkillResult:
        return SkillResult(data=[asked.skill, asked.input])

    activities = AgentActivities(
        model or RecordingModel(),
        agent_types={"mine": extension_agent(f"my_agents:{name}")},
        call_skill=call_skill,
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
    assert len({one.call for one in model.requests}) == 3


async def test_it_may_call_skills(user_code: UserCode) -> None:
    response = await ran(user_code, "calls")
    assert response.data == ["Calculator.evaluate", {"expression": "1"}]


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
        ("gives_up", "my_agents:gives_up nobody knows"),
        ("breaks", "my_agents:breaks raised RuntimeError: broken"),
        ("dies", "my_agents:dies its process ended with exit code 3"),
        ("plain", "my_agents:plain raised ValueError: a coroutine was expected"),
    ],
)
async def test_a_turn_that_fails_says_why(user_code: UserCode, name: str, message: str) -> None:
    response = await ran(user_code, name)
    assert response.error is not None
    assert response.error.type == FailureType.AGENT_FAILED
    assert message in response.error.message


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
