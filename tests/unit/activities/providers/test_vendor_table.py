"""Each rule of a vendor: refused by validation and by the request, or sent in words, by one row."""

import json
from dataclasses import dataclass, field
from typing import Any, get_args

import pytest

from coterie.activities.contracts import FailureType
from coterie.activities.providers.message_model import (
    ModelMessage,
    ThinkingPart,
    ToolCallPart,
    ToolResultPart,
)
from coterie.activities.providers.provider import ModelRequest, ProviderSettings
from coterie.activities.providers.provider_failures import ProviderFailure
from coterie.activities.providers.translation.anthropic_turns import anthropic_body
from coterie.activities.providers.translation.output_schemas import openai_format
from coterie.activities.providers.translation.prepared_requests import prepared
from coterie.activities.providers.translation.responses_turns import responses_body
from coterie.dsl.model.tools.tool_use import NamedTool
from coterie.dsl.model.vendors.vendor_rules import VendorRule
from coterie.dsl.model.vendors.vendors import APIS, VendorApi
from coterie.dsl.tool_loop.exchange import OfferedTool
from coterie.dsl.values import Json
from tests.support.compiling import problems_of


@dataclass(frozen=True, slots=True)
class Example:
    """Settings that break one rule and no other, and a change with which they break none."""

    persona: Json
    mended: Json
    model: str = "m-1"
    tools: bool = False
    section: Json = field(default_factory=dict[str, Any])


def wide(keys: int, schema: Json, *, required: bool) -> Json:
    names: list[Any] = [f"k{number}" for number in range(keys)]
    return {
        "type": "object",
        "properties": dict.fromkeys(names, schema),
        "required": names if required else [],
        "additionalProperties": False,
    }


def deep(levels: int) -> Json:
    schema: Json = {"type": "string"}
    for _ in range(levels):
        schema = {
            "type": "object",
            "properties": {"a": schema},
            "required": ["a"],
            "additionalProperties": False,
        }
    return schema


TEXT: Json = {"type": "string"}
MAYBE: Json = {"type": ["string", "null"]}

EXAMPLES: dict[str, Example] = {
    "forced_call_with_thinking_budget": Example(
        {"thinking": 2048, "tool_choice": "required"}, {"tool_choice": "auto"}, tools=True
    ),
    "thinking_budget_above_max_tokens": Example({"thinking": 8192}, {"max_tokens": 8193}),
    "temperature_with_thinking": Example(
        {"thinking": "adaptive", "temperature": 0}, {"temperature": 1}
    ),
    "top_p_with_thinking": Example({"thinking": 2048, "top_p": 0.5}, {"top_p": 0.95}),
    "temperature_above_one": Example({"temperature": 1.5}, {"temperature": 1}),
    "effort_of_other_vendors": Example({"effort": "minimal"}, {"effort": "low"}),
    "thinking_of_other_vendors": Example({"thinking": "off"}, {"thinking": None}),
    "summary_without_thinking": Example({"reasoning": "summary"}, {"thinking": "adaptive"}),
    "summary_by_chat_completions": Example({"reasoning": "summary"}, {"reasoning": "auto"}),
    "summary_without_reasoning": Example(
        {"reasoning": "summary"}, {"reasoning": "off"}, section={"reasoning": False}
    ),
    "effort_without_reasoning": Example(
        {"effort": "low"}, {"effort": "none"}, section={"reasoning": False}
    ),
    "sampling_of_reasoning_model": Example(
        {"temperature": 0.2}, {"temperature": 1}, model="o4-mini-2025-04-16"
    ),
    "tools_by_chat_completions": Example({}, {"effort": "none"}, model="gpt-5.6", tools=True),
    "schema_beside_tools": Example(
        {"output_schema": wide(1, TEXT, required=True)}, {"output_schema": None}, tools=True
    ),
    "optional_keys": Example(
        {"output_schema": wide(25, TEXT, required=False)},
        {"output_schema": wide(24, TEXT, required=False)},
    ),
    "union_types": Example(
        {"output_schema": wide(17, MAYBE, required=True)},
        {"output_schema": wide(16, MAYBE, required=True)},
    ),
    "schema_of_no_object": Example(
        {"output_schema": {"type": "array", "items": TEXT}},
        {"output_schema": wide(1, TEXT, required=True)},
    ),
    "large_schema": Example({"output_schema": deep(11)}, {"output_schema": deep(10)}),
}

SECTIONS: dict[VendorApi, Json] = {
    "messages": {"kind": "anthropic"},
    "compatible_messages": {"kind": "anthropic", "api_base": "http://models.test"},
    "responses": {"kind": "openai"},
    "openai_chat": {"kind": "openai", "api": "chat"},
    "gemini_chat": {
        "kind": "openai",
        "api_base": "https://generativelanguage.googleapis.com/v1beta/openai",
    },
    "compatible_responses": {
        "kind": "openai",
        "api": "responses",
        "api_base": "http://models.test/v1",
    },
    "compatible_chat": {"kind": "openai", "api_base": "http://models.test/v1"},
}

CASES = [(rule, name) for name, api in APIS.items() for rule in api.call_rules]
NAMES = [f"{rule.name}-{api}" for rule, api in CASES]
REFUSED = [case for case in CASES if case[0].action == "refuse"]
IN_WORDS = [case for case in CASES if case[0].action == "in_words"]


def test_every_rule_has_an_example_and_every_api_a_section() -> None:
    assert EXAMPLES.keys() == {rule.name for rule, _ in CASES}
    assert SECTIONS.keys() == set(get_args(VendorApi))
    assert all(rule.source.startswith("https://") for rule, _ in CASES)


def settings(api: VendorApi, example: Example) -> ProviderSettings:
    return ProviderSettings(name="vendor", **{**SECTIONS[api], **example.section})  # type: ignore[arg-type]


def request(persona: Json, example: Example) -> ModelRequest:
    given = {key: value for key, value in persona.items() if value is not None}
    if isinstance(choice := given.get("tool_choice"), dict):
        given["tool_choice"] = NamedTool.model_validate(choice)  # type: ignore[assignment]
    tools = (
        (OfferedTool(name="look", description="", input_schema={"type": "object"}),)
        if example.tools
        else ()
    )
    asked = (ModelMessage.of("user", "Go."),)
    return ModelRequest(example.model, asked, tools=tools, **given)  # type: ignore[arg-type]


def found(persona: Json, api: VendorApi, example: Example, **more: Json | list[str]) -> list[Any]:
    actor = {"provider": "vendor", "model": example.model, "prompts": {"user": "Go."}, **persona}
    if example.tools:
        actor["tools"] = ["look"]
    kind = "generic_tool_calling" if example.tools else "generic_single_shot"
    step = {"name": "act", "agent_type": kind, "persona_key": "actor"}
    document = {
        "llm_config": {
            "providers": {
                "vendor": {**SECTIONS[api], **example.section},
                "other": {"kind": "scripted", "mock": "schema"},
            },
            "personas": {"actor": {**actor, **more}},
        },
        "tools": {"look": {"skill": "Files.read", "description": "Looks."}},
        "orchestration": {"entry_team": "a", "teams": {"a": {"tasks": [step]}}},
    }
    return [one for one in problems_of(json.dumps(document)) if one.code == "E511"]


@pytest.mark.parametrize(("rule", "api"), REFUSED, ids=lambda one: getattr(one, "name", one))
def test_what_a_vendor_always_refuses_is_refused_before_the_run(
    rule: VendorRule, api: VendorApi
) -> None:
    example = EXAMPLES[rule.name]
    (problem,) = found(example.persona, api, example)
    assert problem.message == f"vendor/{example.model} would refuse each call: {rule.message}"
    assert problem.fix == rule.fix
    assert found({**example.persona, **example.mended}, api, example) == []


@pytest.mark.parametrize(("rule", "api"), REFUSED, ids=lambda one: getattr(one, "name", one))
def test_what_a_vendor_always_refuses_of_a_fallback_is_refused_too(
    rule: VendorRule, api: VendorApi
) -> None:
    example = EXAMPLES[rule.name]
    other: Any = {"provider": "other", "fallback": [f"vendor/{example.model}"]}
    (problem,) = found({**example.persona, **other}, api, example)
    assert rule.message in problem.message


@pytest.mark.parametrize(("rule", "api"), REFUSED, ids=lambda one: getattr(one, "name", one))
def test_what_a_vendor_always_refuses_is_not_sent(rule: VendorRule, api: VendorApi) -> None:
    example = EXAMPLES[rule.name]
    own = settings(api, example)
    with pytest.raises(ProviderFailure) as caught:
        prepared(request(example.persona, example), own)
    assert (caught.value.kind, caught.value.retryable) == (FailureType.PROVIDER_REFUSED, False)
    assert f"{rule.message}; {rule.fix}" in caught.value.message
    prepared(request({**example.persona, **example.mended}, example), own)


@pytest.mark.parametrize(("rule", "api"), IN_WORDS, ids=lambda one: getattr(one, "name", one))
def test_a_schema_that_a_vendor_refuses_is_sent_in_words(rule: VendorRule, api: VendorApi) -> None:
    example = EXAMPLES[rule.name]
    own = settings(api, example)
    assert found(example.persona, api, example) == []
    asked = prepared(request(example.persona, example), own)
    assert (in_words(asked, own), has_format(asked, own)) == (True, False)
    mended = request({**example.persona, **example.mended}, example)
    assert in_words(mended, own) is False


@pytest.mark.parametrize(
    ("model", "fields", "reasoning", "asked"),
    [
        ("gpt-5.2", {}, None, True),
        ("gpt-4.1", {}, None, False),
        ("gpt-4.1", {"effort": "low"}, None, True),
        ("gpt-4-of-the-team", {}, True, True),
        ("our-deployment", {}, None, True),
        ("our-deployment", {}, False, False),
    ],
)
def test_encrypted_reasoning_is_asked_for_as_the_provider_says(
    model: str, fields: Json, reasoning: bool | None, *, asked: bool
) -> None:
    own = ProviderSettings("azure", "openai", api="responses", reasoning=reasoning)
    sent = ModelRequest(model, (ModelMessage.of("user", "Go."),), **fields)  # type: ignore[arg-type]
    found = responses_body(sent, own).get("include")
    assert found == (["reasoning.encrypted_content"] if asked else None)


def test_reasoning_that_openai_has_not_stored_is_not_returned() -> None:
    """It came without its encrypted content, since nobody asked for it."""
    item: Json = {"type": "reasoning", "id": "rs_1", "summary": []}
    call = ToolCallPart("c", "look", "{}", {"gpt": {"id": "fc_1"}})
    turns = (
        ModelMessage.of("user", "Go."),
        ModelMessage("assistant", (ThinkingPart("gpt", "m", item), call)),
        ModelMessage("user", (ToolResultPart("c", "wet"),)),
    )
    own = ProviderSettings("gpt", "openai")
    sent = json.dumps(responses_body(prepared(ModelRequest("m", turns), own), own))
    assert "rs_1" not in sent
    assert "fc_1" not in sent
    other = ProviderSettings("gpt", "openai", api="responses", api_base="http://models.test")
    assert "rs_1" in json.dumps(responses_body(prepared(ModelRequest("m", turns), other), other))


def in_words(asked: ModelRequest, own: ProviderSettings) -> bool:
    if own.kind == "anthropic":
        return "JSON Schema" in str(anthropic_body(asked, own).get("system"))
    if own.vendor_api in ("responses", "compatible_responses"):
        return "JSON Schema" in str(responses_body(asked, own).get("instructions"))
    return "JSON Schema" in str(openai_format(asked, own)[0])


def has_format(asked: ModelRequest, own: ProviderSettings) -> bool:
    if own.kind == "anthropic":
        return "output_config" in anthropic_body(asked, own)
    return openai_format(asked, own)[1] is not None


def test_a_named_tool_is_forced_as_well() -> None:
    example = EXAMPLES["forced_call_with_thinking_budget"]
    persona: Json = {**example.persona, "tool_choice": {"tool": "look"}}
    assert len(found(persona, "messages", example)) == 1
    with pytest.raises(ProviderFailure, match="forced `tool_choice`"):
        prepared(request(persona, example), settings("messages", example))
