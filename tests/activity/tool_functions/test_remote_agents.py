"""Remote agents are called over A2A at a real server of its SDK: results, questions, ends."""

import asyncio
from collections.abc import Generator, Mapping
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from pydantic import JsonValue
from temporalio.exceptions import ApplicationError

from coterie.activities.contracts import FailureType, FunctionRequest, FunctionResult
from coterie.activities.tool_functions.apis.api_function import Apis, HttpApi
from coterie.activities.tool_functions.function_activity import FunctionActivities
from coterie.activities.tool_functions.function_results import asked_of
from coterie.activities.workspace.function_base import Workspace
from coterie.activities.workspace.web_access import WebAccess
from coterie.dsl.model.sections.api_document import AgentBinding, ApiSection
from coterie.dsl.model.sections.mcp_document import digest_of_tool
from coterie.dsl.model.tools.asked_input import AskedInput, GivenInput
from coterie.dsl.values import Json
from tests.support.programs.a2a_agent import RemoteAgentServer, remote_agent
from tests.support.tool_functions import environment

KEY = "run/execution/work/paint#1"


@pytest.fixture(scope="module")
def agent() -> Generator[RemoteAgentServer]:
    with remote_agent() as running:
        yield running


def digest(apis: Apis) -> str:
    """What a plan pins of the agent."""
    tool = apis.operation("painter", "message")
    assert tool is not None
    return digest_of_tool(tool)


class Painter:
    """The agent as a run calls it."""

    def __init__(self, agent: RemoteAgentServer, folder: Path, binding: AgentBinding) -> None:
        server = agent.url if binding == "jsonrpc" else f"{agent.url}/rest"
        section = ApiSection(server=server, agent=binding, token_env="TOKEN")
        port = urlsplit(agent.url).port
        access = WebAccess(private_hosts=(f"127.0.0.1:{port}",))
        api = HttpApi("painter", section, {"TOKEN": "secret-token"}, access)
        apis = Apis({"painter": api}, dict)
        self._functions, self._listing = (
            FunctionActivities(Workspace(folder), apis=apis),
            digest(apis),
        )

    async def call(self, given: Json, reply: GivenInput | None = None) -> JsonValue | AskedInput:
        """One activity: its result, or what it asks."""
        request = FunctionRequest(
            skill="painter/message", input=given, key=KEY, listing=self._listing, given_input=reply
        )
        try:
            result = await environment().run(self._functions.call_function, request)
        except ApplicationError as error:
            if error.type != FailureType.INPUT_REQUIRED:
                raise
            asked = asked_of(error)
            assert asked is not None
            return asked
        assert isinstance(result, FunctionResult)
        return result.data

    async def whole(self, given: Json) -> JsonValue | AskedInput:
        """All activities of a call, as long as its task only continues."""
        answer = await self.call(given)
        async with asyncio.timeout(60):
            while isinstance(answer, AskedInput) and answer.continues:
                answer = await self.call(given, GivenInput(asked=answer))
        return answer


@pytest.mark.parametrize("binding", ["jsonrpc", "http+json"])
async def test_a_message_becomes_a_task_whose_artifacts_are_the_result(
    agent: RemoteAgentServer, tmp_path: Path, binding: AgentBinding
) -> None:
    painter = Painter(agent, tmp_path, binding)
    agent.messages.clear()
    answer = await painter.whole({"text": "paint", "data": {"size": 3}})
    assert isinstance(answer, dict)
    assert answer["text"] == "understood"
    assert answer["data"] == [{"said": "paint", "given": [{"size": 3.0}], "number": 7}]
    assert [message.message_id for message in agent.messages] == [KEY]


@pytest.mark.parametrize("binding", ["jsonrpc", "http+json"])
async def test_what_the_agent_asks_becomes_a_question_and_the_answer_goes_to_its_task(
    agent: RemoteAgentServer, tmp_path: Path, binding: AgentBinding
) -> None:
    painter = Painter(agent, tmp_path, binding)
    agent.messages.clear()
    asked = await painter.whole({"text": "ask"})
    assert isinstance(asked, AskedInput)
    assert asked.questions["answer"].message == "Which colour?"
    assert asked.task is not None
    reply = GivenInput(asked=asked, answers={"answer": {"answer": "blue"}}, by="ann")
    answer = await painter.call({"text": "ask"}, reply)
    while isinstance(answer, AskedInput) and answer.continues:
        answer = await painter.call({"text": "ask"}, GivenInput(asked=answer))
    assert isinstance(answer, dict), answer
    assert "blue" in str(answer["data"])
    assert agent.messages[-1].task_id == asked.task.id
    seen = (asked.state or "").split()[0]
    assert seen
    assert agent.messages[-1].metadata["in_reply_to"] == seen


async def test_a_failed_task_fails_the_call_and_an_unwanted_one_is_cancelled(
    agent: RemoteAgentServer, tmp_path: Path
) -> None:
    painter = Painter(agent, tmp_path, "jsonrpc")
    with pytest.raises(ApplicationError, match=r"its task is failed\. no paint"):
        await painter.whole({"text": "fail"})
    asked = await painter.call({"text": "hang"})
    assert isinstance(asked, AskedInput)
    assert asked.task is not None
    unwanted = asked.task.model_copy(update={"unwanted": True})
    given = GivenInput(asked=asked.model_copy(update={"task": unwanted}))
    assert await painter.call({"text": "hang"}, given) is None
    assert agent.cancelled == 1
    gone = asked.task.model_copy(update={"id": "no-such-task"})
    with pytest.raises(ApplicationError, match="Task not found"):
        await painter.call({"text": "hang"}, GivenInput(asked=AskedInput(task=gone)))


@pytest.mark.parametrize(
    ("given", "because"),
    [
        ({"data": {"order": [2**53]}}, r"`data\.order\[0\]` is beyond"),
        ({}, "needs `text` or `data`"),
        ({"text": 1}, "invalid input"),
    ],
)
async def test_what_the_protocol_cannot_carry_is_refused_before_it_is_sent(
    agent: RemoteAgentServer, tmp_path: Path, given: Mapping[str, JsonValue], because: str
) -> None:
    agent.messages.clear()
    with pytest.raises(ApplicationError, match=because):
        await Painter(agent, tmp_path, "jsonrpc").call(dict(given))
    assert agent.messages == []


async def test_a_result_with_a_changed_number_is_refused_by_its_path(
    agent: RemoteAgentServer, tmp_path: Path
) -> None:
    agent.number = 2.0**53
    try:
        with pytest.raises(ApplicationError, match="number of its result is beyond"):
            await Painter(agent, tmp_path, "jsonrpc").whole({"text": "paint"})
    finally:
        agent.number = 7


async def test_an_agent_at_a_private_address_is_not_reached(
    agent: RemoteAgentServer, tmp_path: Path
) -> None:
    section = ApiSection(server=agent.url, agent="jsonrpc")
    apis = Apis({"painter": HttpApi("painter", section, {}, WebAccess())}, dict)
    functions = FunctionActivities(Workspace(tmp_path), apis=apis)
    given: Json = {"text": "x"}
    request = FunctionRequest(skill="painter/message", input=given, key=KEY, listing=digest(apis))
    with pytest.raises(ApplicationError, match="not public"):
        await environment().run(functions.call_function, request)
