"""Tools of MCP servers ask a person, and get the answer when the call is made again."""

import asyncio
from collections.abc import AsyncGenerator, Mapping
from pathlib import Path

import pytest
import pytest_asyncio

from coterie.activities.mcp_client.call_outcomes import InputAsked, McpCallRefused, ToolAnswer
from coterie.activities.mcp_client.input_rounds import InputReply, call_with_input
from coterie.activities.mcp_client.server_pool import McpServers
from coterie.dsl.model.tools.asked_input import AskedForm, AskedInput, GivenInput
from coterie.dsl.values import Json
from tests.support.servers.mcp_tools import (
    asked_by,
    call_tool,
    demo_section,
    digests,
    failure_of,
    ledger,
    listing_of,
    mcp_servers,
    older_section,
)

READ = {"name_pets": {"effect": "read"}}


class Servers:
    """The demo server of now, and as an older one."""

    def __init__(self, folder: Path, servers: McpServers, known: Mapping[str, str]) -> None:
        self.folder = folder
        self.servers = servers
        self.known = known


@pytest_asyncio.fixture(scope="module")
async def demo(tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[Servers]:
    folder = tmp_path_factory.mktemp("demo")
    sections = {
        "demo": demo_section(folder),
        "older": older_section(folder, tools=READ),
    }
    async with mcp_servers(folder, sections) as servers:
        yield Servers(folder, servers, digests(await listing_of(servers, "demo")))


def calls(demo: Servers, of: str) -> list[str]:
    return [one for one in ledger(demo.folder) if one.startswith(of)]


async def test_a_call_that_asks_continues_with_the_answer(demo: Servers) -> None:
    error = await failure_of(demo.servers, "demo/remove", demo.known["remove"])
    assert error.non_retryable
    asked = asked_by(error)
    (question,) = asked.questions.values()
    assert question.message == "Really delete it?"
    assert question.form["required"] == ["sure"]
    assert (asked.within_call, calls(demo, "remove")) == (False, [])
    given = GivenInput(asked=asked, answers={key: {"sure": True} for key in asked.questions})
    result = await call_tool(demo.servers, "demo/remove", demo.known["remove"], given=given)
    assert (result, calls(demo, "remove")) == ("removed: True", ["remove"])


async def test_answers_that_a_once_server_has_forgotten_the_question_of_are_refused(
    demo: Servers,
) -> None:
    error = await failure_of(demo.servers, "demo/remove", demo.known["remove"])
    asked = asked_by(error).model_copy(update={"state": "expired"})
    before = calls(demo, "remove")
    given = GivenInput(asked=asked, answers={key: {"sure": True} for key in asked.questions})
    error = await failure_of(demo.servers, "demo/remove", demo.known["remove"], given=given)
    assert (error.type, calls(demo, "remove")) == ("FunctionRefused", before)


async def test_a_question_within_a_call_is_answered_when_the_call_is_made_again(
    demo: Servers,
) -> None:
    digest = demo.known["name_pets"]
    two: Json = {"animals": 2}
    asked = asked_by(await failure_of(demo.servers, "older/name_pets", digest, two))
    (first,) = asked.questions
    assert asked.within_call
    assert asked.questions[first].message == "What is its name?"
    answers: dict[str, Json] = {first: {"name": "Tom"}}
    given = GivenInput(asked=asked, answers=answers)
    asked = asked_by(await failure_of(demo.servers, "older/name_pets", digest, two, given))
    (second,) = asked.questions
    assert second != first  # the same question, asked again in the same call
    assert calls(demo, "named") == []
    given = GivenInput(asked=asked, answers={**answers, second: {"name": "Kit"}})
    result = await call_tool(demo.servers, "older/name_pets", digest, two, given=given)
    assert (result, calls(demo, "named")) == ("named: Tom, Kit", ["named Tom Kit"])


async def test_each_of_two_calls_that_ask_at_once_has_its_own_question(demo: Servers) -> None:
    digest = demo.known["name_pets"]
    errors = await asyncio.gather(
        *(failure_of(demo.servers, "older/name_pets", digest, {"animals": 1}) for _ in range(2))
    )
    assert [len(asked_by(error).questions) for error in errors] == [1, 1]


def question(key: str, state: str | None, message: str = "Sure?") -> InputAsked:
    form = AskedForm(message=message, form={"type": "object"})
    return InputAsked(message, AskedInput(questions={key: form}, state=state))


class Server:
    """A server that answers in a given order, and notes what it gets."""

    def __init__(self, *answers: InputAsked | McpCallRefused | ToolAnswer) -> None:
        self.left = list(answers)
        self.replies: list[InputReply | None] = []

    async def call(self, reply: InputReply | None) -> ToolAnswer:
        self.replies.append(reply)
        answer = self.left.pop(0)
        if isinstance(answer, ToolAnswer):
            return answer
        raise answer


ANSWERS: dict[str, Json] = {"a": {"sure": True}}
OLD = question("a", "old").asked or AskedInput()
GIVEN = GivenInput(asked=OLD, answers=ANSWERS)


async def test_a_server_that_has_forgotten_its_question_gets_the_same_answer_again() -> None:
    server = Server(McpCallRefused(), question("a", "new"), ToolAnswer("done"))
    assert (await call_with_input(server.call, GIVEN, once=False)).data == "done"
    assert server.replies == [InputReply(ANSWERS, "old"), None, InputReply(ANSWERS, "new")]


@pytest.mark.parametrize(
    ("server", "once", "end", "requests"),
    [
        (Server(McpCallRefused("no")), True, McpCallRefused, 1),
        (Server(McpCallRefused("no"), McpCallRefused("no")), False, McpCallRefused, 2),
        (Server(McpCallRefused(), question("a", "new", "Really?")), False, InputAsked, 2),
        (
            Server(McpCallRefused(), question("a", "new"), question("a", "newer")),
            False,
            InputAsked,
            3,
        ),
        (Server(question("b", "old")), False, InputAsked, 1),
    ],
)
async def test_an_answer_counts_for_its_question_alone(
    server: Server, once: bool, end: type[Exception], requests: int
) -> None:
    with pytest.raises(end):
        await call_with_input(server.call, GIVEN, once=once)
    assert len(server.replies) == requests


async def test_a_server_that_only_wants_to_be_asked_again_is_asked_ten_times() -> None:
    again = InputAsked("", AskedInput(state="wait"))
    server = Server(again, ToolAnswer("done"))
    assert (await call_with_input(server.call, None, once=True)).data == "done"
    assert server.replies == [None, InputReply({}, "wait")]
    with pytest.raises(McpCallRefused, match="after 10 requests"):
        await call_with_input(Server(*[again] * 10).call, None, once=False)
