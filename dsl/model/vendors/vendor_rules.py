"""What vendors refuse of a call: one rule for each.

A rule refuses a call before it is sent and paid for, and before its run if the document shows it;
or it sends a schema in words, where the vendor's own feature would refuse it. Which rules an API
has stands in its row in `vendors`.
Rules about conversations are in `activities/providers/translation/request_checks.py`.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

from coterie.dsl.model.model_options import Effort, Thinking
from coterie.dsl.model.tools.tool_use import NamedTool, ToolChoice
from coterie.dsl.values import Json, JsonValue

Action = Literal["refuse", "in_words"]
"""Refuse the call; or send its schema in words, as part of the system prompt."""


@dataclass(frozen=True, slots=True)
class CallSettings:
    """The settings of a model call, as a persona or a request has them."""

    model: str
    max_tokens: int
    temperature: float | None = None
    top_p: float | None = None
    effort: Effort | None = None
    thinking: Thinking | None = None
    has_tools: bool = False
    tool_choice: ToolChoice = "auto"
    output_schema: Json | None = None
    summary: bool = False
    """Whether the vendor is asked for a summary of the model's thinking."""
    reasoning: bool | None = None
    """What the provider's section says of its models."""


@dataclass(frozen=True, slots=True)
class VendorRule:
    """One thing that vendors refuse."""

    name: str
    breaks: Callable[[CallSettings], bool]
    action: Action
    keys: tuple[str, ...]
    """The keys of a persona that it is about; the first that is written has the problem."""
    message: str
    fix: str
    source: str
    """The vendor's page, or a report of its answer."""


_THINKING_PAGE = "https://platform.claude.com/docs/en/build-with-claude/extended-thinking"
_FORMAT_PAGE = "https://platform.claude.com/docs/en/build-with-claude/structured-outputs"
_STRICT_PAGE = "https://platform.openai.com/docs/guides/structured-outputs"

_MAX_OPTIONAL_KEYS = 24
_MAX_UNION_TYPES = 16
_MAX_DEPTH = 10
_MAX_PROPERTIES = 5_000
_MAX_ENUM_VALUES = 1_000
_MIN_TOP_P_WITH_THINKING = 0.95

_ALWAYS_REASONS = re.compile(
    r"(o1|o3|o4)(-(mini|preview|pro|deep-research))*(-\d{4}-\d\d-\d\d)?"
    r"|gpt-5(-(mini|nano|pro|codex))*(-\d{4}-\d\d-\d\d)?"
)
"""OpenAI's models that reason whatever the `effort`, and then refuse sampling parameters."""

_TOOLS_BY_RESPONSES = re.compile(r"gpt-5\.[4-9].*")


def _thinks(call: CallSettings) -> bool:
    return call.thinking is not None and call.thinking != "off"


def _is_forced(choice: ToolChoice) -> bool:
    return choice == "required" or isinstance(choice, NamedTool)


OF_MESSAGES = (
    VendorRule(
        "summary_without_thinking",
        lambda call: call.summary and not _thinks(call),
        "refuse",
        ("reasoning",),
        "Claude summarises only thinking that the request asks for",
        "set `thinking: adaptive`, or remove `reasoning: summary`",
        _THINKING_PAGE,
    ),
    VendorRule(
        "forced_call_with_thinking_budget",
        lambda call: (
            isinstance(call.thinking, int) and call.has_tools and _is_forced(call.tool_choice)
        ),
        "refuse",
        ("tool_choice", "thinking"),
        "Anthropic refuses a forced `tool_choice` with a number of tokens for `thinking`",
        "set `tool_choice: auto`, or `thinking: adaptive`",
        _THINKING_PAGE,
    ),
    VendorRule(
        "thinking_budget_above_max_tokens",
        lambda call: isinstance(call.thinking, int) and call.thinking >= call.max_tokens,
        "refuse",
        ("thinking", "max_tokens"),
        "Anthropic refuses a `thinking` that is not below `max_tokens`, which includes it",
        "raise `max_tokens` above `thinking`, or lower `thinking`",
        _THINKING_PAGE,
    ),
    VendorRule(
        "temperature_with_thinking",
        lambda call: _thinks(call) and call.temperature not in (None, 1),
        "refuse",
        ("temperature", "thinking"),
        "Anthropic refuses a `temperature` other than 1 with `thinking`",
        "remove `temperature`, or set `thinking: off`",
        _THINKING_PAGE,
    ),
    VendorRule(
        "top_p_with_thinking",
        lambda call: (
            _thinks(call) and call.top_p is not None and call.top_p < _MIN_TOP_P_WITH_THINKING
        ),
        "refuse",
        ("top_p", "thinking"),
        f"Anthropic refuses a `top_p` below {_MIN_TOP_P_WITH_THINKING} with `thinking`",
        "remove `top_p`, or set `thinking: off`",
        _THINKING_PAGE,
    ),
    VendorRule(
        "optional_keys",
        lambda call: _count_optional_keys(call.output_schema) > _MAX_OPTIONAL_KEYS,
        "in_words",
        ("output_schema",),
        f"Anthropic refuses an output format with more than {_MAX_OPTIONAL_KEYS} optional keys",
        "require more keys",
        _FORMAT_PAGE,
    ),
    VendorRule(
        "union_types",
        lambda call: _count_union_types(call.output_schema) > _MAX_UNION_TYPES,
        "in_words",
        ("output_schema",),
        f"Anthropic refuses an output format with more than {_MAX_UNION_TYPES} keys of several "
        "types",
        "use fewer of them",
        _FORMAT_PAGE,
    ),
)
"""Of every server of the Messages API."""

OF_ANTHROPIC = (
    VendorRule(
        "temperature_above_one",
        lambda call: call.temperature is not None and call.temperature > 1,
        "refuse",
        ("temperature",),
        "Anthropic refuses a `temperature` above 1",
        "set a `temperature` from 0 to 1",
        "https://platform.claude.com/docs/en/api/messages",
    ),
    VendorRule(
        "effort_of_other_vendors",
        lambda call: call.effort in ("none", "minimal"),
        "refuse",
        ("effort",),
        "Anthropic knows the `effort` low, medium, high, xhigh and max, and no other",
        "choose one of them, or set `thinking: off`",
        "https://platform.claude.com/docs/en/build-with-claude/effort",
    ),
)
"""Of Anthropic, itself or in a cloud."""

OF_OPENAI_APIS = (
    VendorRule(
        "thinking_of_other_vendors",
        lambda call: call.thinking is not None,
        "refuse",
        ("thinking",),
        "OpenAI's APIs have no `thinking`",
        "set `effort` on the persona instead, where `none` turns it off",
        "https://platform.openai.com/docs/guides/reasoning",
    ),
    VendorRule(
        "schema_of_no_object",
        lambda call: call.output_schema is not None and call.output_schema.get("type") != "object",
        "in_words",
        ("output_schema",),
        "OpenAI's APIs refuse an output schema that is not an object at its root",
        "give the schema the type object",
        _STRICT_PAGE,
    ),
)
"""Of every server of OpenAI's APIs."""

OF_CHAT = (
    VendorRule(
        "summary_by_chat_completions",
        lambda call: call.summary,
        "refuse",
        ("reasoning",),
        "Chat Completions cannot be asked for a summary of a model's thinking",
        "remove `reasoning: summary`: what a server shows unasked is kept anyway",
        "https://platform.openai.com/docs/guides/reasoning",
    ),
)
"""Of every server of Chat Completions."""

OF_RESPONSES = (
    VendorRule(
        "summary_without_reasoning",
        lambda call: call.summary and call.reasoning is False,
        "refuse",
        ("reasoning",),
        "the provider says `reasoning: false`, and only models that reason have a summary of it",
        "remove `reasoning: summary`, or set `reasoning: true` on the provider",
        "https://platform.openai.com/docs/guides/reasoning",
    ),
    VendorRule(
        "effort_without_reasoning",
        lambda call: call.reasoning is False and call.effort not in (None, "none"),
        "refuse",
        ("effort",),
        "the provider says `reasoning: false`, and only models that reason take an `effort`",
        "remove `effort`, or set `reasoning: true` on the provider",
        "https://platform.openai.com/docs/guides/reasoning",
    ),
)
"""Of every server of the Responses API."""

OF_OPENAI = (
    VendorRule(
        "sampling_of_reasoning_model",
        lambda call: (
            _ALWAYS_REASONS.fullmatch(call.model) is not None
            and (call.temperature not in (None, 1) or call.top_p not in (None, 1))
        ),
        "refuse",
        ("temperature", "top_p"),
        "OpenAI refuses a `temperature` or `top_p` other than 1 with this model, which reasons",
        "remove `temperature` and `top_p`, or choose another model",
        "https://platform.openai.com/docs/guides/latest-model",
    ),
    VendorRule(
        "large_schema",
        lambda call: (
            _count_depth(call.output_schema) > _MAX_DEPTH
            or _count_properties(call.output_schema) > _MAX_PROPERTIES
            or _count_enum_values(call.output_schema) > _MAX_ENUM_VALUES
        ),
        "in_words",
        ("output_schema",),
        f"OpenAI refuses an output schema with more than {_MAX_DEPTH} levels, {_MAX_PROPERTIES} "
        f"properties or {_MAX_ENUM_VALUES} enum values",
        "split the schema",
        _STRICT_PAGE,
    ),
)
"""Of OpenAI's own servers, or Azure's."""

OF_OPENAI_CHAT = (
    VendorRule(
        "tools_by_chat_completions",
        lambda call: (
            call.has_tools
            and call.effort != "none"
            and _TOOLS_BY_RESPONSES.fullmatch(call.model) is not None
        ),
        "refuse",
        ("tools", "effort"),
        "OpenAI's Chat Completions refuse tools with this model while it reasons",
        "set `api: responses` on the provider, or `effort: none` on the persona",
        "https://platform.openai.com/docs/guides/migrate-to-responses",
    ),
)
"""Of these, by Chat Completions."""

OF_GEMINI = (
    VendorRule(
        "schema_beside_tools",
        lambda call: call.has_tools and call.output_schema is not None,
        "in_words",
        ("output_schema",),
        "Gemini refuses an output schema beside tools",
        "leave it to Coterie, which sends the schema in words",
        "https://github.com/googleapis/python-genai/issues/867",
    ),
)
"""Of Google's server for Gemini."""

ToolSchemaRule = Literal[
    "forms_at_root",
    "property_name",
    "array_without_items",
    "items_of_tuple",
    "boolean_schema",
    "required_unknown",
    "reference_outside",
]
"""A form of a tool's schema that some vendors refuse.

A schema with such a form is rewritten for the model, and a call gets its tool's own names again
(`dsl/json_schema/offered_schema.py`). Validation warns of it.
"""

TOOL_SCHEMA_RULES: dict[ToolSchemaRule, str] = {
    "forms_at_root": "a choice such as `anyOf` at its root",
    "property_name": (
        "a property whose name has other characters than letters, digits, `_`, `.` and `-`"
    ),
    "array_without_items": "an array without `items`",
    "items_of_tuple": "a list of schemas as `items`",
    "boolean_schema": "`true` or `false` in the place of a schema",
    "required_unknown": "a name in `required` that `properties` does not have",
    "reference_outside": "a `$ref` to another document",
}
"""What such a schema has."""

_MAPS = ("properties", "$defs", "definitions")
"""Keywords whose values are `{name: schema}`."""
_LISTS = ("anyOf", "oneOf", "allOf", "prefixItems")
_SINGLE = ("items", "additionalProperties", "not")


def _count_optional_keys(schema: Json | None) -> int:
    """Count the properties that their objects do not require."""
    return sum(
        len(_keys_of(subschema) - _required_keys(subschema)) for subschema, _ in _schemas(schema, 0)
    )


def _count_properties(schema: Json | None) -> int:
    """Count the properties of all objects."""
    return sum(len(_keys_of(subschema)) for subschema, _ in _schemas(schema, 0))


def _count_union_types(schema: Json | None) -> int:
    """Count the schemas that allow values of several types."""
    return sum(_is_union(subschema) for subschema, _ in _schemas(schema, 0))


def _count_enum_values(schema: Json | None) -> int:
    """Count the values of all enums."""
    enums = (subschema.get("enum") for subschema, _ in _schemas(schema, 0))
    return sum(len(values) for values in enums if isinstance(values, list))


def _count_depth(schema: Json | None) -> int:
    """Count the levels of objects and arrays within each other."""
    return max((level for _, level in _schemas(schema, 0)), default=0)


def _schemas(schema: JsonValue, level: int) -> Iterator[tuple[Json, int]]:
    """Yield a schema and those within it, each with the level that it has."""
    if not isinstance(schema, dict):
        return
    inner = level + (bool(_keys_of(schema)) or "items" in schema)
    yield schema, inner
    for key in _MAPS:
        named = schema.get(key)
        for subschema in named.values() if isinstance(named, dict) else ():
            yield from _schemas(subschema, inner if key == "properties" else 0)
    for key in _LISTS:
        listed = schema.get(key)
        for subschema in listed if isinstance(listed, list) else ():
            yield from _schemas(subschema, inner)
    for key in _SINGLE:
        yield from _schemas(schema.get(key), inner)


def _is_union(schema: Json) -> bool:
    types = schema.get("type")
    return isinstance(types, list) or "anyOf" in schema or "oneOf" in schema


def _keys_of(schema: Json) -> set[str]:
    properties = schema.get("properties")
    return set(properties) if isinstance(properties, dict) else set()


def _required_keys(schema: Json) -> set[str]:
    keys = schema.get("required")
    return {str(key) for key in keys} if isinstance(keys, list) else set()
