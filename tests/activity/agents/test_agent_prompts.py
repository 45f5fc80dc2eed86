"""Which prompt an agent asks, and how it is filled."""

import asyncio
import threading
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import pytest
from pydantic import JsonValue
from temporalio.exceptions import ApplicationError

from coterie.activities.agent_activity import AgentActivities
from coterie.activities.agents.agent_base import AgentServices
from coterie.activities.agents.single_shot import GenericSingleShotAgent
from coterie.activities.contracts import FailureType
from coterie.activities.threads.run_threads import TURN_THREADS
from coterie.dsl.values import Json
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
    ("prompt", "message"),
    [
        ("{{ context.missing }}", "context.missing has no value"),
        ("{{ 1 +", "unexpected"),
        ("{{ input }}", "prompt 'user' is blank after rendering"),
    ],
)
async def test_a_prompt_that_cannot_be_filled_is_a_failure_without_a_call(
    prompt: str, message: str
) -> None:
    model = RecordingModel()
    who = persona(prompts={"user": prompt})
    response = await turn(AgentActivities(model), request({"input": " ", "context": {}}, who))
    assert response.error is not None
    assert response.error.type == "TemplateFailed"
    assert response.error.message.startswith("task 'design': ")
    assert message in response.error.message
    assert model.requests == []


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"prompts": {"a": "1", "b": "2"}}, r"has several prompts \(a, b\)"),
        ({"prompt": "usr"}, "uses prompt 'usr', which its persona does not have; it has: user"),
        ({"prompts": {"system": "s"}}, "has nothing to ask"),
    ],
)
async def test_an_agent_that_does_not_know_what_to_ask_is_refused(
    fields: Json, message: str
) -> None:
    with pytest.raises(ApplicationError, match=message) as caught:
        await turn(AgentActivities(RecordingModel()), request(who=persona(**fields)))
    assert caught.value.type == FailureType.AGENT_REFUSED
    assert caught.value.non_retryable


class Witnessing(GenericSingleShotAgent):
    """Says on which thread its prompt was filled."""

    thread: threading.Thread

    def _get_prompt(self, inputs: Json) -> str:
        self.thread = threading.current_thread()
        return super()._get_prompt(inputs)


async def test_prompts_of_an_own_agent_type_are_filled_off_the_event_loop() -> None:
    agent = Witnessing(persona(prompts={"user": "u"}).model_dump(), "a", {})
    agent.attach(AgentServices(providers=RecordingModel(answer())))
    assert (await agent.process({})).success
    assert agent.thread is not threading.current_thread()


class Counting(ThreadPoolExecutor):
    """Counts what it is given to do."""

    jobs = 0

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        self.jobs += 1
        return super().submit(fn, *args, **kwargs)


@pytest.mark.parametrize(
    ("inputs", "fields", "jobs"),
    [
        ({"input": "x"}, {"prompts": {"system": "s", "user": "About {{ input }}"}}, 0),
        ({"input": ["x"] * 3000}, {"prompts": {"user": "About {{ input }}"}}, 1),
        ({}, {"prompts": {"user": "{% for a in range(3000) %}x{% endfor %}"}}, 1),
        ({}, {"prompts": {"user": "u" * 9000}}, 1),
        ({"input": "x"}, {"prompts": {}}, 1),
        ({}, {"prompts": {"user": "u"}, "output_schema": {"type": "object"}}, 2),
    ],
    ids=["short", "large input", "long loop", "long prompt", "no prompt", "schema"],
)
def test_a_turn_takes_a_thread_only_when_its_prompts_or_its_answer_may_take_long(
    inputs: Json, fields: dict[str, Any], jobs: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def jobs_of_a_turn() -> int:
        executor = Counting()
        monkeypatch.setattr(TURN_THREADS, "_pool", executor)
        agent = GenericSingleShotAgent(persona(**fields).model_dump(), "a", {})
        agent.attach(AgentServices(providers=RecordingModel(answer("{}"))))
        assert (await agent.process(inputs)).success
        return executor.jobs

    assert asyncio.run(jobs_of_a_turn()) == jobs  # on a loop with an executor of its own


def test_a_provider_is_created_in_a_thread_by_the_first_turn_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def jobs_of_each_turn() -> list[int]:
        executor = Counting()
        monkeypatch.setattr(TURN_THREADS, "_pool", executor)
        activities = AgentActivities(RecordingModel(answer(), answer(), answer()))
        jobs: list[int] = []
        for _ in range(3):
            before = executor.jobs
            await turn(activities, request({"input": "x"}))
            jobs.append(executor.jobs - before)
        return jobs

    assert asyncio.run(jobs_of_each_turn()) == [1, 0, 0]


async def test_a_prompt_that_would_take_the_worker_is_a_named_failure_of_its_task() -> None:
    model = RecordingModel(answer())
    bomb = "{% for a in range(99999) %}{% for b in range(99999) %}x{% endfor %}{% endfor %}"
    result = await turn(AgentActivities(model), request({}, persona(prompts={"user": bomb})))
    assert result.error is not None
    assert result.error.type == "EvaluationLimitExceeded"
    assert "takes more than 200,000 steps" in result.error.message
    assert model.requests == []
