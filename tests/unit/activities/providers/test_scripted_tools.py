"""Scripts that call tools, and answers without a script."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from coterie.activities.contracts import FailureType, StopReason, TokenUsage
from coterie.activities.providers.message_model import (
    ModelMessage,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)
from coterie.activities.providers.provider import Completion, ModelRequest, ProviderSettings
from coterie.activities.providers.provider_failures import ProviderFailure
from coterie.activities.providers.provider_registry import Providers
from coterie.activities.providers.scripted import ScriptedProvider
from coterie.dsl.model.tools.tool_use import NamedTool, ToolChoice
from coterie.dsl.tool_loop.exchange import OfferedTool

SEARCH = OfferedTool(
    name="search",
    description="Search.",
    input_schema={
        "type": "object",
        "properties": {"query": {"type": "string"}},
        "required": ["query"],
    },
)
ADD = OfferedTool(name="add", description="Add.", input_schema={"type": "object"})
SCRIPT = """
answers:
  - task: find
    answer: I look.
    tool_calls: [{tool: search, arguments: {query: cats}}, {tool: add}]
  - {task: find, turn: 2, tool_calls: [{tool: search, arguments: '{"query": '}]}
  - {task: find, turn: 3, answer: Two.}
  - {task: find, contains: no such index, answer: It is not there.}
  - {task: cut, tool_calls: [{tool: add}], stop_reason: max_tokens}
"""


def asked(
    turn: int = 1,
    *,
    label: str = "t/find#1.0",
    after: Completion | None = None,
    results: Sequence[str] = ("1", "2"),
    **fields: Any,
) -> ModelRequest:
    """A turn with tools; after an answer with calls, with their results."""
    messages = [ModelMessage.of("user", "Find cats.")]
    if after is not None:
        pairs = zip(after.tool_calls, results, strict=False)
        parts = tuple(ToolResultPart(call.id, text) for call, text in pairs)
        messages += [ModelMessage("assistant", after.content), ModelMessage("user", parts)]
    given: dict[str, Any] = {"messages": tuple(messages), "tools": (SEARCH, ADD), **fields}
    return ModelRequest(model="m", label=label, turn=turn, **given)


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "answers.yml"
    path.write_text(SCRIPT)
    return path


async def test_an_entry_calls_tools_beside_its_text(script: Path) -> None:
    answer = await ScriptedProvider(script).complete(asked())
    assert answer.content == (
        TextPart("I look."),
        ToolCallPart("call_1_1", "search", '{"query": "cats"}'),
        ToolCallPart("call_1_2", "add", "{}"),
    )
    assert (answer.stop_reason, answer.text) == ("tool_calls", "I look.")


async def test_the_turn_selects_the_entry_and_ids_never_repeat(script: Path) -> None:
    provider = ScriptedProvider(script)
    first = await provider.complete(asked())
    second = await provider.complete(asked(2, after=first))
    assert second.content == (ToolCallPart("call_2_1", "search", '{"query": '),)
    third = await provider.complete(asked(3, after=first))
    assert (third.text, third.stop_reason, third.tool_calls) == ("Two.", "end", ())
    assert await provider.complete(asked(2, after=first)) == second


async def test_an_entry_can_depend_on_the_result_of_a_tool(script: Path) -> None:
    provider = ScriptedProvider(script)
    first = await provider.complete(asked())
    lost = asked(2, after=first, results=("no such index", "2"))
    assert (await provider.complete(lost)).text == "It is not there."


async def test_a_scripted_call_can_be_cut_off(script: Path) -> None:
    answer = await ScriptedProvider(script).complete(asked(label="t/cut#1.0"))
    reason: StopReason = "max_tokens"
    assert (answer.stop_reason, len(answer.tool_calls)) == (reason, 1)


async def test_the_usage_of_a_scripted_call_counts_results_and_calls(script: Path) -> None:
    provider = ScriptedProvider(script)
    first = await provider.complete(asked())
    text = len("I look.") + len('search{"query": "cats"}') + len("add{}")
    assert first.usage == TokenUsage(-(-len("Find cats.") // 4), -(-text // 4))
    second = await provider.complete(asked(3, after=first, results=("x" * 400, "")))
    assert second.usage.input_tokens == -(-(len("Find cats.") + len("I look.") + 400) // 4)


@pytest.mark.parametrize(
    ("choice", "words"),
    [
        (
            "auto",
            "`- {task: t/other, visit: 1, turn: 4, answer: ...}`, with "
            "`tool_calls: [{tool: search, arguments: ...}]` for a call of a tool",
        ),
        ("none", "`- {task: t/other, visit: 1, turn: 4, answer: ...}`"),
    ],
)
async def test_a_turn_without_an_entry_names_the_one_to_add(
    script: Path, choice: ToolChoice, words: str
) -> None:
    request = asked(4, label="t/other#1.0", tool_choice=choice)
    with pytest.raises(ProviderFailure) as caught:
        await ScriptedProvider(script).complete(request)
    assert caught.value.message == (
        f"{script} has no answer for 't/other#1.0': add an entry like {words}"
    )


async def test_a_history_that_no_vendor_takes_is_refused_by_a_script_too(script: Path) -> None:
    call = ModelMessage("assistant", (ToolCallPart("a", "add", "{}"),))
    broken = asked(messages=(ModelMessage.of("user", "Go."), call, ModelMessage.of("user", "On.")))
    with pytest.raises(ProviderFailure, match="the call 'a' has no result"):
        await ScriptedProvider(script).complete(broken)


async def mocked(request: ModelRequest, script: Path | None = None) -> Completion:
    answers = None if script is None else str(script)
    settings = ProviderSettings("demo", "scripted", answers=answers, mock="schema")
    return await Providers({"demo": settings}).get("demo").complete(request)


async def test_a_mock_answers_by_the_schema_of_the_answer() -> None:
    schema = {
        "type": "object",
        "properties": {"verdict": {"enum": ["PASS", "FAIL"]}, "comment": {"type": "string"}},
        "required": ["verdict", "comment"],
    }
    answer = await mocked(asked(output_schema=schema))
    assert json.loads(answer.text) == {"verdict": "PASS", "comment": "comment"}
    assert answer == await mocked(asked(output_schema=schema))
    assert answer.stop_reason == "end"


async def test_a_mock_without_a_schema_says_a_text() -> None:
    assert (await mocked(asked())).text == "mock answer of t/find"


@pytest.mark.parametrize(
    ("choice", "call"),
    [
        ("required", ToolCallPart("call_1_1", "search", '{"query": "query"}')),
        (NamedTool(tool="add"), ToolCallPart("call_1_1", "add", "{}")),
    ],
)
async def test_a_mock_calls_a_tool_only_where_it_must(
    choice: ToolChoice, call: ToolCallPart
) -> None:
    assert (await mocked(asked(tool_choice=choice))).content == (call,)
    assert (await mocked(asked(tool_choice="auto"))).tool_calls == ()


async def test_an_entry_wins_over_the_mock(script: Path) -> None:
    assert (await mocked(asked(), script)).text == "I look."
    assert (await mocked(asked(label="t/x#1.0"), script)).text == "mock answer of t/x"


async def test_a_schema_without_a_small_value_names_what_to_add() -> None:
    schema = {"type": "string", "pattern": "^[a-z]{40}$"}
    with pytest.raises(ProviderFailure) as caught:
        await mocked(asked(output_schema=schema))
    assert (caught.value.kind, caught.value.retryable) == (FailureType.PROVIDER_REFUSED, False)
    assert caught.value.message == (
        '`mock: schema` found no value for the answer of t/find (the value is "text", which '
        "does not match '^[a-z]{40}$'); add `examples` to the schema, or an entry to the script"
    )


def test_a_scripted_provider_needs_a_script_or_a_mock() -> None:
    with pytest.raises(ProviderFailure, match="set `answers` to its path, or `mock: schema`"):
        Providers({"s": ProviderSettings("s", "scripted")}).get("s")


async def test_an_entry_with_templates_repeats_what_the_call_contains(tmp_path: Path) -> None:
    script = tmp_path / "answers.yml"
    script.write_text("""
answers:
  - task: find
    templates: true
    tool_calls: [{tool: search, arguments: {query: "{{ prompts[0] }}"}}]
  - task: find
    turn: 2
    templates: true
    answer: {first: "{{ results.search.hits[0] }}", other: "{{ results.add }}"}
  - {task: find, turn: 3, answer: "{{ prompts[0] }}"}
  - {task: find, turn: 4, templates: true, answer: "{{ results.nothing.at }}"}
""")
    provider = ScriptedProvider(script)
    first = await provider.complete(asked())
    assert json.loads(first.tool_calls[0].arguments) == {"query": "Find cats."}
    calls = (ToolCallPart("a", "search", "{}"), ToolCallPart("b", "add", "{}"))
    after = Completion(calls, "tool_calls", "m")
    results = ['{"hits": ["{{ prompts }}"]}', "{not JSON"]
    second = await provider.complete(asked(2, after=after, results=results))
    assert json.loads(second.text) == {"first": "{{ prompts }}", "other": "{not JSON"}
    assert (await provider.complete(asked(3))).text == "{{ prompts[0] }}"
    with pytest.raises(ProviderFailure) as caught:
        await provider.complete(asked(4))
    assert "the scripted answer of 'find' cannot be filled: {{ results.nothing.at }}" in str(
        caught.value.message
    )
