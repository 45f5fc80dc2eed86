"""What people may read of a model's thinking, as each vendor writes it."""

import json
from typing import Any

import pytest
from pydantic import JsonValue

from coterie.activities.contracts import MAX_REASONING, ModelReasoning
from coterie.activities.providers.message_model import ModelMessage, TextPart, ThinkingPart
from coterie.activities.providers.provider import ModelRequest, ProviderSettings
from coterie.activities.providers.translation.anthropic_turns import anthropic_body
from coterie.activities.providers.translation.readable_reasoning import readable_reasoning
from coterie.activities.providers.translation.responses_turns import responses_body
from coterie.dsl.model.model_options import Reasoning, Thinking


def shown(*opaque: JsonValue) -> ModelReasoning | None:
    thoughts = [ThinkingPart("p", "m", item) for item in opaque]
    return readable_reasoning([(*thoughts, TextPart("Yes."))])


SUMMARY: list[JsonValue] = [
    {"type": "summary_text", "text": "I add."},
    {"type": "summary_text", "text": "I check."},
]
OPEN: list[JsonValue] = [{"type": "reasoning_text", "text": "3 + 4"}]


@pytest.mark.parametrize(
    ("opaque", "text", "is_summary"),
    [
        ({"type": "thinking", "thinking": "3 + 4", "signature": "S"}, "3 + 4", False),
        ({"type": "thinking", "thinking": "", "signature": "S"}, None, False),
        ({"type": "redacted_thinking", "data": "R"}, None, False),
        ({"type": "reasoning", "summary": SUMMARY, "encrypted_content": "E"},
         "I add.\n\nI check.", True),
        ({"type": "reasoning", "summary": [], "encrypted_content": "E"}, None, False),
        ({"type": "reasoning", "summary": SUMMARY, "content": OPEN}, "3 + 4", False),
        ({"reasoning_content": "3 + 4"}, "3 + 4", False),
        ({"reasoning": "3 + 4"}, "3 + 4", False),
        ({"reasoning": "3 + 4", "reasoning_content": "3 + 4"}, "3 + 4", False),
        ({"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "3 + 4"}]},
                      {"type": "text", "text": "Yes."}]}, "3 + 4", False),
        ("sealed", None, False),
        ({"type": "reasoning", "summary": "none"}, None, False),
    ],
    ids=["Claude", "omitted", "redacted", "summary", "sealed", "open model", "reasoning_content",
         "reasoning", "both", "Mistral", "text", "odd"],
)  # fmt: skip
def test_the_readable_part_of_thinking_is_taken_and_nothing_sealed(
    opaque: JsonValue, text: str | None, is_summary: bool
) -> None:
    found = shown(opaque)
    assert found == (None if text is None else ModelReasoning(text=text, is_summary=is_summary))


def test_reasoning_is_bounded_and_can_be_sent() -> None:
    found = shown({"reasoning": "x" * MAX_REASONING}, {"reasoning": "\ud800 and"})
    assert found is not None
    assert len(found.text) == MAX_REASONING
    assert found.left_out == 7
    assert shown({"reasoning": "\ud800"}) == ModelReasoning(text="?")


@pytest.mark.parametrize("reasoning", ["auto", "summary", "off"])
@pytest.mark.parametrize("thinking", ["adaptive", 2048, "off", None])
def test_only_a_summary_is_asked_for(reasoning: Reasoning, thinking: Thinking | None) -> None:
    request = ModelRequest(
        "m", (ModelMessage.of("user", "Hi"),), thinking=thinking, reasoning=reasoning
    )
    claude: Any = anthropic_body(request, ProviderSettings("a", "anthropic"))
    assert ("summarized" in json.dumps(claude)) == (
        reasoning == "summary" and thinking in ("adaptive", 2048)
    )
    openai = responses_body(request, ProviderSettings("o", "openai"))
    asked = openai.get("reasoning")
    assert asked == ({"summary": "auto"} if reasoning == "summary" else None)
