"""Compaction: what the model sums up, what of the conversation stays, and what is stored."""

from collections.abc import Sequence

import pytest

from coterie.activities.agents.conversation_compaction import INSTRUCTION
from coterie.activities.contracts import AgentResponse, CompactionTurn, Conversation, TokenUsage
from coterie.activities.providers.message_model import (
    ModelMessage,
    Part,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolResultPart,
)
from coterie.activities.providers.provider import ModelRequest, ProviderSettings
from coterie.activities.providers.translation.anthropic_turns import anthropic_body
from coterie.activities.storage.turn_records import SUMMARY
from coterie.dsl.model.compaction import Compaction
from coterie.dsl.model.plan import Persona
from coterie.dsl.tool_loop.exchange import ToolResult, ToolTurn
from coterie.dsl.values import Json
from tests.support.simulation.stored_turns import ACTOR, SEARCH, Agents, Model, says, wants

LONG = ACTOR.model_copy(update={"compaction": Compaction()})
WRITER = Persona(
    provider="scripted",
    model="demo",
    prompts={"system": "You write.", "user": "{{ input }}"},
    compaction=Compaction(),
)
THOUGHT = ThinkingPart("scripted", "demo", {"signature": "S"})


async def compact(
    agents: Agents, *results: str, keep: int = 1, limit: int = 100_000, **more: object
) -> AgentResponse:
    """Compact the conversation of an agent that is about to send the results."""
    turn = ToolTurn(continues=True, results=tuple(ToolResult(text=text) for text in results))
    asked = CompactionTurn(keep_turns=keep, limit=limit)
    return await agents.turn(
        **{"tool_turn": turn, "provider": "scripted", "compaction": asked, **more}
    )


def loop(*turns: Sequence[Part]) -> Agents:
    return Agents(Model(*turns))


def shape(messages: Sequence[ModelMessage]) -> list[tuple[str, list[str]]]:
    """The messages as roles and short names of their parts."""

    def name(part: Part) -> str:
        match part:
            case TextPart(text=text):
                return text
            case ToolCallPart(arguments=arguments):
                return f"call {arguments}"
            case ToolResultPart(text=text):
                return f"result {text}"
            case _:
                return type(part).__name__

    return [(one.role, [name(part) for part in one.content]) for one in messages]


async def three_turns(agents: Agents, persona: Persona = LONG) -> None:
    await agents.first("Find it.", persona=persona)
    await agents.later("one")
    await agents.later("two")


async def test_the_summary_is_asked_of_the_same_prefix_with_every_call_answered() -> None:
    agents = loop((THOUGHT, *wants("a")), wants("b"), wants("c"), says("We know one and two."))
    await three_turns(agents)
    response = await compact(agents, "three")
    before, asked = agents.model.asked[-2:]
    assert asked.messages[:4] == before.messages[:4]
    assert shape(asked.messages[4:]) == [("user", ["result two", INSTRUCTION])]
    assert (asked.system, asked.tools) == (before.system, before.tools)
    assert (asked.tool_choice, asked.purpose, asked.turn) == ("none", "compaction", 4)
    assert response.data == {"summary": "We know one and two.", "summarised": 2, "kept": 1}


async def test_the_new_conversation_has_the_prompt_the_summary_and_whole_pairs() -> None:
    agents = loop(
        (THOUGHT, *wants("a")), wants("b"), (THOUGHT, *wants("c")), says("Known."), says("Done.")
    )
    await three_turns(agents)
    await compact(agents, "three")
    await agents.later("three")
    last = agents.model.asked[-1]
    assert shape(last.messages) == [
        ("user", [f"{SUMMARY}\n\nKnown.\n\n", "Find it."]),
        ("assistant", ['call {"query": "c"}']),
        ("user", ["result three"]),
    ]
    assert last.system == "You are kind."
    assert last.turn == 4


async def test_the_prefix_of_the_new_conversation_stays_byte_for_byte() -> None:
    agents = loop(wants("a"), wants("b"), wants("c"), says("Known."), wants("d"), says("Done."))
    await three_turns(agents)
    await compact(agents, "three")
    await agents.later("three")
    await agents.later("four")
    fourth, fifth = agents.model.asked[-2:]
    assert fifth.messages[: len(fourth.messages)] == fourth.messages


async def test_a_second_compaction_keeps_the_prompt_and_sums_the_summary_up() -> None:
    agents = loop(
        wants("a"),
        wants("b"),
        wants("c"),
        says("First."),
        wants("d"),
        says("Second."),
        says("Done."),
    )
    await three_turns(agents)
    await compact(agents, "three")
    await agents.later("three")
    await compact(agents, "four")
    await agents.later("four")
    assert f"{SUMMARY}\n\nFirst.\n\n" in shape(agents.model.asked[-2].messages)[0][1]
    assert shape(agents.model.asked[-1].messages)[0] == (
        "user",
        [f"{SUMMARY}\n\nSecond.\n\n", "Find it."],
    )


async def test_nothing_is_asked_where_nothing_would_become_shorter() -> None:
    agents = loop(wants("a"))
    await agents.first("Find it.", persona=LONG)
    response = await compact(agents, "one")
    assert response.conversation is None
    assert response.data == {"summarised": 0, "kept": 1}
    assert len(agents.model.asked) == 1


@pytest.mark.parametrize(("limit", "kept"), [(100_000, 2), (40, 1)])
async def test_fewer_turns_stay_when_they_are_long(limit: int, kept: int) -> None:
    agents = loop(wants("a"), wants("b" * 200), wants("c"), says("Known."))
    await three_turns(agents)
    response = await compact(agents, "three", keep=5, limit=limit)
    assert isinstance(response.data, dict)
    assert response.data["kept"] == kept


async def test_a_conversation_without_tools_keeps_its_latest_answers() -> None:
    agents = loop(says("A."), says("B."), says("C."), says("Known."), says("D."))

    async def turn(text: str, **more: object) -> AgentResponse:
        given = {"persona": WRITER, "inputs": {"input": text}, "agent_type": "generic_single_shot"}
        return await agents.turn(**given, **more)

    for text in ("one", "two", "three"):
        await turn(text)
    await turn("four", compaction=CompactionTurn(keep_turns=1, limit=1_000_000))
    summary = agents.model.asked[-1]
    assert summary.system == "You write."
    assert shape(summary.messages) == [
        ("user", ["one"]),
        ("assistant", ["A."]),
        ("user", ["two"]),
        ("assistant", ["B."]),
        ("user", [INSTRUCTION]),
    ]
    await turn("four")
    assert shape(agents.model.asked[-1].messages) == [
        ("user", [f"{SUMMARY}\n\nKnown.\n\n", "three"]),
        ("assistant", ["C."]),
        ("user", ["four"]),
    ]


async def test_no_turn_stays_where_none_is_kept() -> None:
    agents = loop(wants("a"), says("A."), says("Known."), says("B."))
    await agents.first("one", persona=LONG)
    await agents.later("found")
    first = ToolTurn(offered=(SEARCH,))
    given = {"input": "two", "context": {"role": "kind"}}
    await compact(agents, keep=0, tool_turn=first, persona=LONG, inputs=given)
    await agents.first("two", persona=LONG)
    last = agents.model.asked[-1]
    assert [role for role, _ in shape(last.messages)] == ["user"]
    assert "Known." in last.messages[0].text
    assert last.messages[0].text.endswith("two")


@pytest.mark.parametrize(
    ("answer", "stop", "type"),
    [
        (says("Half"), "max_tokens", "AnswerTruncated"),
        (says(""), "end", "AnswerUnusable"),
        (wants("x"), "end", "AnswerUnusable"),
        (says("No."), "refusal", "AnswerRefused"),
    ],
)
async def test_a_summary_that_is_none_is_a_failure(
    answer: Sequence[Part], stop: str, type: str
) -> None:
    agents = loop(wants("a"), wants("b"), answer)
    await agents.first("Find it.", persona=LONG)
    await agents.later("one")
    agents.model.stop = stop
    response = await compact(agents, "two")
    assert response.error is not None
    assert response.error.type == type
    assert response.conversation is None


async def test_another_model_sums_up_without_the_settings_of_the_first() -> None:
    thinking = LONG.model_copy(update={"thinking": 2048, "effort": "high"})
    agents = loop(wants("a"), wants("b"), says("Known."), says("Done."))
    await agents.first("Find it.", persona=thinking)
    await agents.later("one")
    asked = CompactionTurn(keep_turns=1, limit=9_000, other_model=True, prompt="Be brief.")
    await compact(agents, "two", provider="other", model="small", compaction=asked)
    summary = agents.model.asked[-1]
    assert (summary.model, summary.thinking, summary.effort) == ("small", None, None)
    assert summary.messages[-1].text == "Be brief."
    await agents.later("two")
    assert agents.model.asked[-1].model == "demo"


async def test_a_turn_says_how_full_its_conversation_is() -> None:
    agents = Agents(Model(wants("a"), says("Done."), usage=TokenUsage(700, 50)))
    first = await agents.first(persona=LONG.model_copy(update={"context_window": 50_000}))
    assert first.context is not None
    assert (first.context.tokens, first.context.window, first.context.turns) == (750, 50_000, 1)
    second = await agents.later("one")
    assert second.context is not None
    assert second.context.turns == 2
    assert agents.model.asked[1].input_tokens == 751


async def test_a_turn_of_a_persona_without_compaction_says_nothing_of_it() -> None:
    agents = loop(says("Done."))
    assert (await agents.first()).context is None


async def test_a_window_that_moved_drops_the_thinking_of_the_steps_before() -> None:
    """It is bound to a beginning that is not sent any more; that of the step itself stays."""
    answered = (THOUGHT, *says("A."))
    agents = loop(answered, answered, answered, (THOUGHT, *wants("a")), says("Done."))
    for text in ("one", "two", "three"):
        await agents.first(text)
    assert shape(agents.model.asked[-1].messages)[1] == ("assistant", ["ThinkingPart", "A."])
    window = Conversation(head=agents.head, turns=1)
    given = {"input": "four", "context": {"role": "kind"}}
    await agents.turn(
        persona=ACTOR, inputs=given, tool_turn=ToolTurn(offered=(SEARCH,)), conversation=window
    )
    await agents.turn(
        tool_turn=ToolTurn(continues=True, results=(ToolResult(text="r"),)),
        provider="scripted",
        conversation=Conversation(head=agents.head, turns=1),
    )
    fourth, fifth = agents.model.asked[-2:]
    assert shape(fourth.messages) == [
        ("user", ["three"]),
        ("assistant", ["A."]),
        ("user", ["four"]),
    ]
    assert fifth.messages[:3] == fourth.messages
    assert shape(fifth.messages)[3] == ("assistant", ["ThinkingPart", 'call {"query": "a"}'])


def body_of(*reply: Part) -> Json:
    messages = (
        ModelMessage.of("user", "Go."),
        ModelMessage("assistant", reply),
        ModelMessage("user", (ToolResultPart("c0", "1"),)),
    )
    return anthropic_body(
        ModelRequest("m", messages, thinking=2048), ProviderSettings("claude", "anthropic")
    )


def test_claude_does_not_think_with_a_number_of_tokens_after_calls_without_its_thinking() -> None:
    """The API refuses it: the latest turn with calls must begin with its thinking."""
    own = ThinkingPart("claude", "m", {"type": "thinking", "thinking": "", "signature": "S"})
    assert body_of(own, *wants("a"))["thinking"] == {"type": "enabled", "budget_tokens": 2048}
    assert "thinking" not in body_of(*wants("a"))
    assert "thinking" not in body_of(ThinkingPart("gpt", "m", {}), *wants("a"))
