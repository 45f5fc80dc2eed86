"""A turn of an agent that uses tools: what the model gets, and what the worker stores of it."""

from pathlib import Path

import pytest
from temporalio.exceptions import ApplicationError

from coterie.activities.contracts import AgentRequest, Conversation, FunctionRequest, Reask
from coterie.activities.providers.message_model import (
    ModelMessage,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolResultPart,
)
from coterie.activities.storage.blobs import MemoryBlobs
from coterie.activities.tool_functions.function_activity import MAX_INLINE, FunctionActivities
from coterie.activities.workspace.function_base import Workspace
from coterie.dsl.model.tools.tool_contract import FunctionTool
from coterie.dsl.model.tools.tool_use import CALL_FOUND, TOOL_SEARCH
from coterie.dsl.tool_loop.exchange import OfferedTool, ToolCallRequest, ToolResult, ToolTurn
from coterie.dsl.tool_loop.result_texts import LOST
from coterie.dsl.tool_loop.tool_search import constant_tools
from tests.support.simulation.stored_turns import ACTOR, SEARCH, Agents, Model, says, texts, wants


async def test_the_prefix_of_every_request_is_the_whole_request_before() -> None:
    thinking = ThinkingPart("scripted", "demo", {"signature": "S"})
    agents = Agents(Model((thinking, *wants("a")), wants("b", "c"), says("Done.")))
    await agents.first()
    await agents.later("1", notices=("[Note: hurry.]",))
    await agents.later("2", "3")
    first, second, third = agents.model.asked
    assert second.messages[:1] == first.messages
    assert third.messages[:3] == second.messages
    assert second.messages[1] == ModelMessage("assistant", (thinking, *wants("a")))
    for one in agents.model.asked:
        assert one.system == "You are kind."
        assert one.tools == (
            OfferedTool(name="search", description="Finds.", input_schema={"type": "object"}),
        )
    assert second.messages[2].content == (ToolResultPart("c0", "1"), TextPart("[Note: hurry.]"))
    assert third.messages[4].content == (ToolResultPart("c0", "2"), ToolResultPart("c1", "3"))
    assert [one.turn for one in agents.model.asked] == [1, 2, 3]


async def test_what_a_search_finds_changes_no_prefix_and_its_call_names_the_real_tool() -> None:
    carried = '{"name": "book", "arguments": {"day": "Monday"}}'
    model = Model(
        (ToolCallPart("c0", TOOL_SEARCH, '{"query": "book a day"}'),),
        (ToolCallPart("c1", CALL_FOUND, carried), ToolCallPart("c2", CALL_FOUND, "[]")),
        says("Booked."),
    )
    agents = Agents(model)
    book = FunctionTool.model_validate(
        {"skill": "Diary.book", "terms": {"effect": "once", "timeout": 1, "retries": 0}}
    )
    offered = (SEARCH, *constant_tools(("book",), {"book": book}))
    await agents.first(offered=offered)
    response = await agents.later('{"name": "book", "input_schema": {}}')
    call, unusable = response.tool_calls
    assert call == ToolCallRequest(tool="book", arguments={"day": "Monday"})
    assert (unusable.tool, unusable.problem) == (CALL_FOUND, "they are not an object")
    await agents.later("Monday it is", "no")
    first, second, third = model.asked
    assert first.tools == second.tools == third.tools == offered
    assert second.messages[:1] == first.messages
    assert third.messages[:3] == second.messages
    assert third.messages[3].content[0] == ToolCallPart("c1", CALL_FOUND, carried)
    assert third.messages[4].content[0] == ToolResultPart("c1", "Monday it is")


async def test_a_turn_returns_its_calls_and_the_name_of_what_is_stored() -> None:
    agents = Agents(Model((TextPart("I look."), *wants("a", "b"))))
    response = await agents.first()
    assert response.tool_calls == (
        ToolCallRequest(tool="search", arguments={"query": "a"}),
        ToolCallRequest(tool="search", arguments={"query": "b"}),
    )
    assert response.data == {"text": "I look."}
    assert response.conversation is not None


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ("{", "they are not JSON"),
        ("[1]", "they are not an object"),
        ('{"n": NaN}', "they are not JSON: 'n' is not a JSON number"),
        ('{"n": 1e999}', "they are not JSON"),
        ('{"s": "\\ud800"}', "they are not JSON"),
        ('{"n": 1, "n": 2}', "they are not JSON: it has the key 'n' twice in one object"),
        ("[" * 100_000, "they are not JSON"),
    ],
)
async def test_arguments_that_are_no_object_are_a_problem_of_the_call(
    arguments: str, problem: str
) -> None:
    agents = Agents(Model((ToolCallPart("c", "search\ud800", arguments),)))
    (call,) = (await agents.first()).tool_calls
    assert call.tool == "search?"
    assert call.arguments == {}
    assert (call.problem or "").startswith(problem)


@pytest.mark.parametrize("written", ["null", " null\n", "{}", ""])
async def test_no_arguments_are_an_empty_object(written: str) -> None:
    (call,) = (await Agents(Model((ToolCallPart("c", "now", written),))).first()).tool_calls
    assert call == ToolCallRequest(tool="now")


async def test_a_call_without_arguments_has_none() -> None:
    agents = Agents(Model((ToolCallPart("c", "search", ""),)))
    assert (await agents.first()).tool_calls == (ToolCallRequest(tool="search"),)


async def test_calls_whose_results_nobody_kept_get_one_that_says_so() -> None:
    agents = Agents(Model(wants("a", "b"), says("Well.")))
    await agents.first()
    await agents.first("Go on.", results=(ToolResult(text="1"),))
    assert agents.model.asked[1].messages[2].content == (
        ToolResultPart("c0", "1"),
        ToolResultPart("c1", LOST, is_error=True),
        TextPart("Go on."),
    )


async def test_more_results_than_calls_are_refused() -> None:
    agents = Agents(Model(wants("a")))
    await agents.first()
    with pytest.raises(ApplicationError, match="got 2 results for 1 calls"):
        await agents.later("1", "2")


async def test_results_that_another_agent_left_answer_nothing() -> None:
    agents = Agents(Model(wants("a"), says("I see.")))
    await agents.first()
    other = ACTOR.model_copy(update={"max_tokens": 17})
    response = await agents.first("And you?", persona=other, results=(ToolResult(text="1"),))
    assert response.success
    assert [texts(one) for one in agents.model.asked[1].messages] == [["Go.\n\nAnd you?"]]


async def test_results_outside_the_window_answer_nothing() -> None:
    agents = Agents(Model(wants("a long question"), says("I see.")))
    await agents.first()
    request = AgentRequest(
        team="t",
        task="act",
        agent_type="generic_tool_calling",
        persona=ACTOR,
        inputs={"input": "Then?", "context": {"role": "kind"}},
        tool_turn=ToolTurn(offered=(SEARCH,), results=(ToolResult(text="1"),)),
        conversation=Conversation(head=agents.head, characters=1),
    )
    await agents.activities.run_agent(request)
    assert [one.content for one in agents.model.asked[1].messages] == [(TextPart("Then?"),)]


async def test_an_agent_stays_the_same_one_when_a_fallback_takes_over() -> None:
    agents = Agents(Model(wants("a"), says("Dry.")))
    await agents.first()
    other = ACTOR.model_copy(update={"provider": "second", "model": "big"})
    left = (ToolResult(text="dry"),)
    await agents.first("Well?", persona=other, results=left, planned="scripted/demo")
    later = agents.model.asked[1]
    assert later.model == "big"
    assert later.messages[1].content == wants("a")
    assert later.messages[2].content == (ToolResultPart("c0", "dry"), TextPart("Well?"))


async def test_a_later_step_keeps_the_frozen_system_prompt_and_gets_the_news_as_text() -> None:
    agents = Agents(Model(says("Hm."), says("Aha.")))
    await agents.first()
    await agents.first("Again.", role="strict")
    later = agents.model.asked[1]
    assert later.system == "You are kind."
    assert texts(later.messages[2]) == ["Your instructions are now:\n\nYou are strict.\n\nAgain."]


async def test_turns_of_another_agent_enter_as_text() -> None:
    agents = Agents(Model(wants("a"), says("Rain."), says("I agree."), says("So do I.")))
    await agents.first()
    await agents.later("wet")
    other = ACTOR.model_copy(update={"max_tokens": 17})
    await agents.first("And you?", persona=other)
    assert [(one.role, texts(one)) for one in agents.model.asked[2].messages] == [
        ("user", ["Go."]),
        ("assistant", ["Rain."]),
        ("user", ["And you?"]),
    ]
    await agents.first("And you again?")
    assert [texts(one) for one in agents.model.asked[3].messages] == [
        ["Go."],
        [],
        ["wet"],
        ["Rain."],
        ["And you?"],
        ["I agree."],
        ["And you again?"],
    ]


async def test_a_window_never_separates_a_call_from_its_result() -> None:
    agents = Agents(Model(wants("a"), says("Rain."), wants("b"), says("Sun.")))
    await agents.first()
    await agents.later("wet")
    agents.head, head = agents.head, agents.head
    request = AgentRequest(
        team="t",
        task="act",
        agent_type="generic_tool_calling",
        persona=ACTOR,
        inputs={"input": "Then?", "context": {"role": "kind"}},
        tool_turn=ToolTurn(offered=(SEARCH,)),
        conversation=Conversation(head=head, turns=1),
    )
    await agents.activities.run_agent(request)
    assert [texts(one) for one in agents.model.asked[2].messages] == [
        ["Go."],
        [],
        ["wet"],
        ["Rain."],
        ["Then?"],
    ]


async def test_an_unusable_answer_stays_in_the_conversation() -> None:
    persona = ACTOR.model_copy(update={"output_schema": {"type": "object"}})
    agents = Agents(Model(says("no"), says('{"n": 1}')))
    response = await agents.first(persona=persona)
    assert response.error is not None
    assert response.error.type == "AnswerUnusable"
    assert response.answer is None
    reask = Reask(number=1, answer="", problem=response.error.message)
    again = await agents.turn(  # pyright: ignore[reportPrivateUsage]
        reask=reask, tool_turn=ToolTurn(continues=True), provider="scripted"
    )
    assert again.data == {"n": 1}
    *before, question = agents.model.asked[1].messages
    assert [texts(one) for one in before] == [["Go."], ["no"]]
    assert question.text.startswith("Your answer could not be used: ")
    assert question.text.endswith("with one JSON value and nothing else.")


async def test_the_last_turn_takes_the_text_and_leaves_the_calls_out() -> None:
    agents = Agents(Model((TextPart("Enough."), *wants("a")), wants("b")))
    response = await agents.first(choice="none")
    assert (response.data, response.tool_calls) == ({"text": "Enough."}, ())
    response = await agents.first(choice="none")
    assert response.error is not None
    assert response.error.type == "TurnsExhausted"


@pytest.mark.parametrize(
    ("stop", "type"), [("max_tokens", "AnswerTruncated"), ("refusal", "AnswerRefused")]
)
async def test_calls_of_a_cut_answer_never_run_and_are_not_stored(stop: str, type: str) -> None:
    agents = Agents(Model(wants("a"), stop=stop))
    response = await agents.first()
    assert response.error is not None
    assert (response.error.type, response.tool_calls, agents.head) == (type, (), None)


async def test_a_turn_without_its_conversation_is_refused_for_good() -> None:
    agents = Agents(Model(says("Hm.")))
    with pytest.raises(ApplicationError, match="continues without an earlier turn") as refused:
        await agents.later()
    assert refused.value.non_retryable
    agents.head = "0" * 64
    with pytest.raises(ApplicationError, match="cannot continue its conversation") as missing:
        await agents.later()
    assert (missing.value.type, missing.value.non_retryable) == ("StorageUnusable", False)
    assert agents.model.asked == []


async def test_a_large_result_of_a_function_stays_outside_the_history(tmp_path: Path) -> None:
    (tmp_path / "long.txt").write_text("rain " * 1000)
    blobs = MemoryBlobs()
    functions = FunctionActivities(Workspace(root=tmp_path), blobs=blobs)
    request = FunctionRequest(
        skill="Discovery.collect", input={"path": "."}, key="r/t/s#1", keep=True
    )
    result = await functions.call_function(request)
    assert result.data is None
    assert result.kept is not None
    assert result.kept.size > 5000
    assert len(result.model_dump_json(exclude_defaults=True)) < 400
    agents = Agents(Model(wants("a"), says("Wet.")), blobs)
    await agents.first()
    await agents.later(results=(ToolResult(text="Look: ", kept=result.kept.name),))
    (text,) = texts(agents.model.asked[1].messages[2])
    assert text.startswith('Look: {"')
    assert "rain rain" in text


async def test_a_small_result_is_returned_and_so_is_one_without_a_storage(tmp_path: Path) -> None:
    request = FunctionRequest(
        skill="Discovery.collect", input={"path": "."}, key="r/t/s#1", keep=True
    )
    without = FunctionActivities(Workspace(root=tmp_path))
    small = await FunctionActivities(Workspace(root=tmp_path), blobs=MemoryBlobs()).call_function(
        request
    )
    assert small.kept is None
    assert len(small.model_dump_json()) <= MAX_INLINE + 100
    (tmp_path / "long.txt").write_text("rain " * 1000)
    large = await without.call_function(request)
    assert large.kept is None
    assert isinstance(large.data, dict)


@pytest.mark.parametrize("kind", ["generic_single_shot", "generic_tool_calling"])
async def test_results_that_another_agent_s_turn_left_return_to_their_agent(kind: str) -> None:
    model = Model(wants("a", "b"), says("Well."), says("Thanks."), wants("c"), says("Done."))
    agents = Agents(model)
    await agents.first()
    left = (ToolResult(text="one"), ToolResult(text="two", failed=True))
    speaker = ACTOR.model_copy(update={"max_tokens": 17})
    given = {"persona": speaker, "inputs": {"input": "Hm?", "context": {"role": "calm"}}}
    if kind == "generic_single_shot":
        talk = Conversation(head=agents.head, left=left)
        await agents.turn(agent_type=kind, conversation=talk, **given)
    else:
        await agents.turn(tool_turn=ToolTurn(offered=(SEARCH,), results=left), **given)
    assert [texts(one) for one in model.asked[1].messages] == [["Go.\n\nHm?"]]
    await agents.first("And now?")
    await agents.first("And then?")
    third, fourth = model.asked[2:4]
    assert third.messages[2].content[:2] == (
        ToolResultPart("c0", "one"),
        ToolResultPart("c1", "two", is_error=True),
    )
    assert fourth.messages[: len(third.messages)] == third.messages
