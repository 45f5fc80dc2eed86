"""Large results of tools: what a model gets of them, and where the rest is."""

import pytest

from coterie.activities.context_windows import ContextWindows
from coterie.activities.contracts import KeptResult
from coterie.activities.providers.message_model import ToolCallPart
from coterie.activities.storage.open_conversation import result_parts
from coterie.dsl.model.outcomes import Outcome
from coterie.dsl.tool_loop.context_room import default_max_result
from coterie.dsl.tool_loop.exchange import ToolResult
from coterie.dsl.tool_loop.result_texts import shortened_result
from coterie.workflows.agents.loop.agent_calls import MadeCall, result_for_model
from tests.support.engine import plan_of


@pytest.mark.parametrize(
    ("results", "most"), [(1, 8_000), (2, 8_000), (4, 4_000), (100, 160), (0, 8_000)]
)
def test_one_result_has_a_quarter_of_the_window_and_all_together_a_half(
    results: int, most: int
) -> None:
    assert default_max_result(8_000, results) == most


def test_a_result_is_cut_off_with_a_mark_that_names_the_key_and_the_place() -> None:
    text = "ab" * 500
    assert shortened_result(text, 1_000, None) == text
    kept = shortened_result(text, 300, "blob-1")
    assert kept == (
        text[:300] + "\n[cut off: these are 300 of 1,000 characters, by `max_result` of the tool; "
        "stored whole as blob-1. Ask for less at a time.]"
    )
    assert "the history of the run has it whole" in shortened_result(text, 300, None)


async def shown(results: list[ToolResult], window: int | None, stored: str = "") -> list[str]:
    calls = [ToolCallPart(f"c{number}", "t", "{}") for number in range(len(results))]
    windows = ContextWindows(None, window)

    async def value(_: str) -> str:
        return stored

    async def room(number: int, characters: int) -> int | None:
        return await windows.room_of_results("p", "m", number, characters)

    return [part.text for part in await result_parts(calls, results, value, room)]


@pytest.mark.parametrize(
    ("given", "window", "most"),
    [
        (ToolResult(kept="b"), None, 100_000),  # nobody knows the window
        (ToolResult(kept="b"), 4_000, 4_000),
        (ToolResult(text="x" * 100_000), 4_000, 4_000),
        (ToolResult(text="x" * 100_000, failed=True), 4_000, 4_000),
        (ToolResult(kept="b", max_result=500), 4_000, 500),
        (ToolResult(kept="b", max_result=500), None, 500),
        (ToolResult(kept="b", max_result=200_000), 4_000, 100_000),
        (ToolResult(kept="b"), 1_000_000, 100_000),
    ],
)
async def test_a_model_gets_as_much_of_a_result_as_its_window_or_its_tool_allows(
    given: ToolResult, window: int | None, most: int
) -> None:
    (text,) = await shown([given], window, "x" * 100_000)
    assert text.lstrip("x").startswith("\n[cut off: ") is (most < 100_000)
    assert text.count("x" * most) == 1
    assert len(text) <= most + 200


async def test_results_of_one_turn_share_a_half_of_the_window() -> None:
    texts = await shown([ToolResult(text="Q" * 9_000)] * 8, 4_000)
    assert {text.count("Q") for text in texts} == {1_000}


async def test_a_small_result_stays_whole_in_a_window_that_nobody_states() -> None:
    assert await shown([ToolResult(text="z" * 9_000)], None) == ["z" * 9_000]


def test_the_bound_of_a_tool_travels_with_its_results_alone() -> None:
    made = MadeCall(Outcome.succeeded(None), KeptResult(name="b", size=9_000, preview=""))
    result, _ = result_for_model(made, 500)
    assert (result.max_result, result.size) == (500, 500)
    assert result.model_dump()["max_result"] == 500
    plain, _ = result_for_model(made, None)
    assert "max_result" not in plain.model_dump()
    assert plain.size == 9_000


def test_a_long_failure_is_cut_off_with_a_mark() -> None:
    failed = MadeCall(Outcome.failed("FunctionFailed", "e" * 9_000))
    result, _ = result_for_model(failed, None)
    assert result.text.endswith(" [cut off: 5,016 more characters]")


def test_every_kind_of_tool_has_the_key() -> None:
    tools = plan_of("""
orchestration:
  entry_team: ask
  teams:
    ask: { tasks: [{ name: ask, persona_key: asker }] }
    other: { tasks: [{ name: a, type: set, values: { b: 1 } }] }
tools:
  s: { skill: Calculator.evaluate, max_result: 100 }
  a: { agent: helper, max_result: 100 }
  t: { team: other, description: Does it., max_result: 100 }
llm_config:
  default_provider: scripted
  default_model: m
  personas:
    asker: { prompts: { user: Go. }, tools: [s, a, t] }
    helper: { description: Helps., prompts: { user: Help. } }
""").tools
    assert [tool.max_result for tool in tools.values()] == [100] * 3
