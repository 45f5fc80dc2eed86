"""Legacy agents at work: old classes answer as they always did, and break nothing."""

import re
from collections.abc import AsyncGenerator

import pytest
from pydantic import JsonValue
from temporalio.exceptions import ApplicationError

from coterie.activities.agent_activity import AgentActivities
from coterie.activities.contracts import AgentError, AgentResponse, FailureType
from coterie.activities.user_code.child_pool import UserCode
from coterie.dsl.values import Json
from tests.support.agents import RecordingModel, legacy_request, turn

MODULE = "tests.support.legacy_agents"
CODE = UserCode()
ACTIVITIES = AgentActivities(RecordingModel(), agent_packages=["tests.support"], user_code=CODE)


@pytest.fixture(autouse=True, scope="module")
async def closed() -> AsyncGenerator[None]:
    yield
    await CODE.close()


async def test_a_sync_agent_reads_its_section_and_the_context() -> None:
    wanted = legacy_request("Discovery", {"context": {"project": {"path": "/p"}}})
    response = await turn(ACTIVITIES, wanted)
    assert response == AgentResponse(success=True, data={"model": "old-model", "path": "/p"})


async def test_an_agent_that_writes_to_what_it_is_given_changes_nothing() -> None:
    inputs: Json = {"context": {"project": {"path": "/p"}}}
    wanted = legacy_request("Discovery", inputs)
    first = await turn(ACTIVITIES, wanted)
    assert await turn(ACTIVITIES, wanted) == first
    assert wanted.inputs == {"context": {"project": {"path": "/p"}}}
    assert wanted.legacy_config == {"discovery": {"model": "old-model"}}


@pytest.mark.parametrize(
    ("inputs", "given"),
    [
        ({"context": {"a": 1}}, {"a": 1}),
        ({"context": {"a": 1}, "input": {"b": 2}}, {"b": 2}),
        ({"context": {"a": 1}, "input": ["b"]}, {"input": ["b"]}),
        ({}, {}),
    ],
)
async def test_an_async_agent_gets_its_input_or_else_the_whole_context(
    inputs: Json, given: JsonValue
) -> None:
    response = await turn(ACTIVITIES, legacy_request("Designer", inputs))
    assert response.data == {"name": "design", "given": given}


async def test_a_constructor_that_hands_its_arguments_on_gets_the_oldest_one() -> None:
    response = await turn(ACTIVITIES, legacy_request("Inheriting"))
    assert response.data == {"name": "from kwargs", "given": {}}


async def test_a_failure_that_the_agent_tells_keeps_its_words_and_its_data() -> None:
    assert await turn(ACTIVITIES, legacy_request("Failing")) == AgentResponse(
        success=False,
        data={"tried": 3},
        error=AgentError(type=FailureType.AGENT_FAILED, message="no solution found"),
    )


@pytest.mark.parametrize("class_name", ["Raising", "RaisingLater"])
@pytest.mark.parametrize(
    ("raises", "message"),
    [
        ("value", "raised ValueError: cannot read the plan"),
        ("exit", "raised SystemExit: stop the worker"),
    ],
)
async def test_exception_of_an_agent_class_fails_its_task_and_not_the_worker(
    class_name: str, raises: str, message: str
) -> None:
    wanted = legacy_request(class_name, {"context": {"raises": raises}})
    said, line = failure(await turn(ACTIVITIES, wanted)).rsplit(" (", 1)
    assert said == f"task 'design': legacy agent {MODULE}.{class_name} {message}"
    assert re.fullmatch(r"legacy_agents\.py:\d+\)", line)


async def test_awaitable_result_of_an_agent_class_is_awaited() -> None:
    response = await turn(ACTIVITIES, legacy_request("Deferring", {"context": {"a": 1}}))
    assert response.data == {"name": "deferred", "given": {"a": 1}}
    raised = await turn(ACTIVITIES, legacy_request("Deferring"))
    assert "Deferring raised ValueError: cannot read the plan (legacy_agents.py:" in failure(raised)


async def test_an_exception_that_cannot_leave_a_thread_does_not_hang_the_turn() -> None:
    wanted = legacy_request("Raising", {"context": {"raises": "stop"}})
    assert "raised StopIteration (legacy_agents.py:" in failure(await turn(ACTIVITIES, wanted))


@pytest.mark.parametrize(
    ("class_name", "message"),
    [
        ("Unserialisable", "returned data that is not JSON: data.files[1].at is a datetime"),
        ("Silent", "returned a NoneType without a boolean `success`"),
    ],
)
async def test_an_answer_that_no_run_can_keep_is_a_failure_that_names_the_field(
    class_name: str, message: str
) -> None:
    response = await turn(ACTIVITIES, legacy_request(class_name))
    assert failure(response).endswith(message)


async def test_a_constructor_that_needs_more_than_there_is_is_refused() -> None:
    with pytest.raises(ApplicationError, match="Demanding needs 'database'; a legacy agent gets"):
        await turn(ACTIVITIES, legacy_request("Demanding"))


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("tests.support.no_module.A", "cannot be imported: ModuleNotFoundError: No module named"),
        (f"{MODULE}.Discoverer", "is not a class with a method .* did you mean 'Discovery'?"),
        (f"{MODULE}.NotAnAgent", r"is not a class with a method process\(context\)"),
        (f"{MODULE}.asyncio", r"is not a class with a method process\(context\)"),
    ],
)
async def test_a_path_that_leads_to_no_agent_is_refused_in_one_sentence(
    path: str, message: str
) -> None:
    with pytest.raises(ApplicationError, match=message) as caught:
        await turn(ACTIVITIES, legacy_request("", changes={"agent_class": path}))
    assert caught.value.type == "AgentRefused"
    assert "\n" not in str(caught.value)


def failure(response: AgentResponse) -> str:
    assert not response.success
    assert response.error is not None
    assert response.error.type == FailureType.AGENT_FAILED
    return response.error.message
