"""Which prompt an agent asks, and how it is filled."""

import threading

import pytest
from pydantic import JsonValue
from temporalio.exceptions import ApplicationError

from activities.agent_activity import AgentActivities
from activities.agents.base import AgentServices
from activities.agents.single_shot import GenericSingleShotAgent
from activities.contracts import FailureType
from dsl.values import Json
from tests.support.agents import RecordingModel, answer, persona, request, turn


async def asked(inputs: Json | None = None, **fields: object) -> tuple[str | None, str]:
    model = RecordingModel(answer())
    await turn(AgentActivities(model), request(inputs, persona(**fields)))
    (only,) = model.requests
    return only.system, only.messages[0].text


@pytest.mark.parametrize(
    ("prompts", "chosen", "expected"),
    [
        ({"user": "u", "other": "o"}, "other", "o"),
        ({"user": "u", "other": "o"}, None, "u"),
        ({"system": "s", "solution": "only"}, None, "only"),
        ({"system": "s", "user": "u"}, "system", "s"),
    ],
)
async def test_the_named_prompt_is_asked_else_user_else_the_only_one(
    prompts: dict[str, str], chosen: str | None, expected: str
) -> None:
    _, text = await asked(prompts=prompts, prompt=chosen)
    assert text == expected


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("As it is {{ x }}", "As it is {{ x }}"),
        ({"a": [1, "é"]}, '{\n  "a": [\n    1,\n    "é"\n  ]\n}'),
    ],
)
async def test_without_a_prompt_the_input_itself_is_asked(value: JsonValue, text: str) -> None:
    assert await asked({"input": value}, prompts={"system": "s"}) == ("s", text)


async def test_a_blank_system_prompt_is_not_sent() -> None:
    assert await asked({"input": ""}, prompts={"system": " {{ input }}\n", "user": "u"}) == (
        None,
        "u",
    )


async def test_older_prompts_with_single_braces_take_inputs_and_context() -> None:
    inputs: Json = {"input": {"source_code": "x = {}"}, "context": {"intent": {"goal": "fix"}}}
    _, text = await asked(
        inputs,
        prompt_syntax="braces",
        prompts={"user": 'To {intent.goal}: {source_code} as {{"json": {{{{ 1 }}}}}}'},
    )
    assert text == 'To fix: x = {} as {"json": {{ 1 }}}'


@pytest.mark.parametrize(
    ("prompt", "told"),
    [
        ("{{ context.missing }}", "context.missing has no value"),
        ("{{ 1 +", "unexpected"),
        ("{{ input }}", "prompt 'user' is blank once it is filled"),
    ],
)
async def test_a_prompt_that_cannot_be_filled_is_a_failure_without_a_call(
    prompt: str, told: str
) -> None:
    model = RecordingModel()
    who = persona(prompts={"user": prompt})
    response = await turn(AgentActivities(model), request({"input": " ", "context": {}}, who))
    assert response.error is not None
    assert response.error.type == "TemplateFailed"
    assert response.error.message.startswith("task 'design': ")
    assert told in response.error.message
    assert model.requests == []


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"prompts": {"a": "1", "b": "2"}}, r"has several prompts \(a, b\)"),
        ({"prompt": "usr"}, "asks prompt 'usr', which its persona does not have; it has: user"),
        ({"prompts": {"system": "s"}}, "has nothing to ask"),
    ],
)
async def test_an_agent_that_does_not_know_what_to_ask_is_refused(fields: Json, told: str) -> None:
    with pytest.raises(ApplicationError, match=told) as caught:
        await turn(AgentActivities(RecordingModel()), request(who=persona(**fields)))
    assert caught.value.type == FailureType.AGENT_REFUSED
    assert caught.value.non_retryable


class Witnessing(GenericSingleShotAgent):
    """Says on which thread its prompt was filled."""

    thread: threading.Thread

    def _get_prompt(self, inputs: Json) -> str:
        self.thread = threading.current_thread()
        return super()._get_prompt(inputs)


async def test_prompts_are_filled_off_the_event_loop() -> None:
    agent = Witnessing(persona(prompts={"user": "u"}).model_dump(), "a", {})
    agent.attach(AgentServices(providers=RecordingModel(answer())))
    assert (await agent.process({})).success
    assert agent.thread is not threading.current_thread()


async def test_a_prompt_that_would_take_the_worker_is_a_named_failure_of_its_task() -> None:
    model = RecordingModel(answer())
    bomb = "{% for a in range(99999) %}{% for b in range(99999) %}x{% endfor %}{% endfor %}"
    result = await turn(AgentActivities(model), request({}, persona(prompts={"user": bomb})))
    assert result.error is not None
    assert result.error.type == "EvaluationLimitExceeded"
    assert "takes more than 200,000 steps" in result.error.message
    assert model.requests == []
