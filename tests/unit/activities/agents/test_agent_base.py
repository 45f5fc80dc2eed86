"""What all agents share: keys of calls, and personas that are checked when they come as JSON."""

import pytest
from pydantic import JsonValue

from coterie.activities.agents.agent_base import AgentServices, BaseAgent
from coterie.activities.agents.refusals import AgentRefused
from coterie.activities.agents.single_shot import GenericSingleShotAgent
from coterie.activities.contracts import AgentResponse, FunctionRequest, FunctionResult
from coterie.dsl.model.plan import Persona
from coterie.dsl.values import Json
from tests.support.agents import RecordingModel, answer

CONFIG: Json = {"provider": "recorded", "model": "model-1", "prompts": {"user": "Go."}}


class Plain(BaseAgent):
    """An agent type of one's own."""

    async def process(self, context: Json) -> AgentResponse:
        return AgentResponse(data=await self.call_function("Files.read", context))


async def key_of(given: Json, own: str = "run/act#1") -> str:
    keys: list[str] = []

    async def call(request: FunctionRequest) -> FunctionResult:
        keys.append(request.key)
        return FunctionResult(data=None)

    agent = Plain(CONFIG, "planner", {})
    agent.attach(AgentServices(call_function=call, key=own))
    await agent.process(given)
    return keys[0]


@pytest.mark.parametrize(
    ("given", "own", "key"),
    [
        ({"path": "é"}, "run/act#1", "run/act#1/Files.read:4df12debf5fd"),
        ({"path": "\ud800"}, "", "planner/Files.read:91a07f34d930"),
    ],
)
async def test_a_call_of_an_agent_has_the_same_key_in_every_attempt(
    given: Json, own: str, key: str
) -> None:
    """A later version of the worker may make the second attempt."""
    assert await key_of(given, own) == key


async def test_the_order_of_an_input_makes_no_other_call() -> None:
    assert await key_of({"a": 1, "b": 2}) == await key_of({"b": 2, "a": 1})
    assert await key_of({"a": 1, "b": 2}) != await key_of({"a": 1, "b": 3})


def test_an_agent_of_a_valid_persona_uses_it_as_it_is() -> None:
    persona, services = Persona.model_validate(CONFIG), AgentServices(key="run/act#1")
    agent = Plain.of(persona, "one", services)
    assert agent.persona is persona
    assert (agent.unique_name, agent.services) == ("one", services)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"provider": 5}, "provider: Input should be a valid string"),
        ({"model": 5}, "model: Input should be a valid string"),
        (
            {"provider": {"name": "recorded"}, "model": None},
            "provider: Input should be a valid str",
        ),
        ({"provider": None, "model": ["m"]}, "model: Input should be a valid string"),
        ({"max_tokens": "many"}, "max_tokens: "),
    ],
)
def test_a_field_that_is_wrong_is_refused_by_its_name(
    changes: dict[str, JsonValue], message: str
) -> None:
    agent = Plain({**CONFIG, **changes}, "one", {})
    with pytest.raises(AgentRefused, match=f"the persona of agent 'one' is invalid: .*{message}"):
        _ = agent.persona


async def test_an_agent_without_stored_images_sends_its_prompt() -> None:
    model = RecordingModel(answer())
    agent = GenericSingleShotAgent(CONFIG, "one", {})
    agent.attach(AgentServices(providers=model))
    response = await agent.process({})
    assert response.success
    assert [message.text for message in model.requests[0].messages] == ["Go."]
