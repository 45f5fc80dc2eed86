"""What vendors refuse: one row for each rule, which validation and the request builder both ask.

A row refuses a call before it is sent and paid for, and before its run if the document shows it;
or it sends a schema in words, where the vendor's own feature would refuse it. To add a rule, add a
row.
Rules about conversations are in `activities/providers/translation/request_checks.py`.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Generic, Literal, TypeVar

from coterie.dsl.model.model_options import Effort, Thinking
from coterie.dsl.model.tools.tool_use import NamedTool, ToolChoice
from coterie.dsl.model.vendors.schema_sizes import (
    depth,
    enum_values,
    optional_keys,
    properties,
    union_types,
)
from coterie.dsl.model.vendors.vendor_apis import VendorApi
from coterie.dsl.values import Json

Action = Literal["refuse", "in_words"]
"""Refuse the call; or send its schema in words, as part of the system prompt."""

Subject = TypeVar("Subject")


@dataclass(frozen=True, slots=True)
class VendorRule(Generic[Subject]):
    """One thing that vendors refuse."""

    name: str
    apis: frozenset[VendorApi]
    """Where it holds."""
    breaks: Callable[[Subject], bool]
    action: Action
    keys: tuple[str, ...]
    """The keys of a persona that it is about; the first that is written has the problem."""
    message: str
    fix: str
    source: str
    """The vendor's page, or a report of its answer."""


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
    reasoning: bool | None = None
    """What the provider's section says of its models."""


def broken_rule(
    rules: Sequence[VendorRule[Subject]], api: VendorApi | None, subject: Subject, action: Action
) -> VendorRule[Subject] | None:
    """Return the first rule of an action that holds for an API and that the subject breaks."""
    return next(broken_rules(rules, api, subject, action), None)


def broken_rules(
    rules: Sequence[VendorRule[Subject]], api: VendorApi | None, subject: Subject, action: Action
) -> Iterator[VendorRule[Subject]]:
    """Yield the rules of an action that hold for an API and that the subject breaks."""
    for rule in rules:
        if rule.action == action and api in rule.apis and rule.breaks(subject):
            yield rule


_ANTHROPIC = frozenset[VendorApi]({"messages"})
_MESSAGES = frozenset[VendorApi]({"messages", "compatible_messages"})
_OPENAI = frozenset[VendorApi]({"responses", "openai_chat"})
_OPENAI_CHAT = frozenset[VendorApi]({"openai_chat"})
_GEMINI = frozenset[VendorApi]({"gemini_chat"})
_RESPONSES = frozenset[VendorApi]({"responses", "compatible_responses"})
_OF_OPENAI_KIND = frozenset[VendorApi](
    {"responses", "openai_chat", "gemini_chat", "compatible_responses", "compatible_chat"}
)

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


CALL_RULES: tuple[VendorRule[CallSettings], ...] = (
    VendorRule(
        "forced_call_with_thinking_budget",
        _MESSAGES,
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
        _MESSAGES,
        lambda call: isinstance(call.thinking, int) and call.thinking >= call.max_tokens,
        "refuse",
        ("thinking", "max_tokens"),
        "Anthropic refuses a `thinking` that is not below `max_tokens`, which includes it",
        "raise `max_tokens` above `thinking`, or lower `thinking`",
        _THINKING_PAGE,
    ),
    VendorRule(
        "temperature_with_thinking",
        _MESSAGES,
        lambda call: _thinks(call) and call.temperature not in (None, 1),
        "refuse",
        ("temperature", "thinking"),
        "Anthropic refuses a `temperature` other than 1 with `thinking`",
        "remove `temperature`, or set `thinking: off`",
        _THINKING_PAGE,
    ),
    VendorRule(
        "top_p_with_thinking",
        _MESSAGES,
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
        "temperature_above_one",
        _ANTHROPIC,
        lambda call: call.temperature is not None and call.temperature > 1,
        "refuse",
        ("temperature",),
        "Anthropic refuses a `temperature` above 1",
        "set a `temperature` from 0 to 1",
        "https://platform.claude.com/docs/en/api/messages",
    ),
    VendorRule(
        "effort_of_other_vendors",
        _ANTHROPIC,
        lambda call: call.effort in ("none", "minimal"),
        "refuse",
        ("effort",),
        "Anthropic knows the `effort` low, medium, high, xhigh and max, and no other",
        "choose one of them, or set `thinking: off`",
        "https://platform.claude.com/docs/en/build-with-claude/effort",
    ),
    VendorRule(
        "thinking_of_other_vendors",
        _OF_OPENAI_KIND,
        lambda call: call.thinking is not None,
        "refuse",
        ("thinking",),
        "OpenAI's APIs have no `thinking`",
        "set `effort` on the persona instead, where `none` turns it off",
        "https://platform.openai.com/docs/guides/reasoning",
    ),
    VendorRule(
        "effort_without_reasoning",
        _RESPONSES,
        lambda call: call.reasoning is False and call.effort not in (None, "none"),
        "refuse",
        ("effort",),
        "the provider says `reasoning: false`, and only models that reason take an `effort`",
        "remove `effort`, or set `reasoning: true` on the provider",
        "https://platform.openai.com/docs/guides/reasoning",
    ),
    VendorRule(
        "sampling_of_reasoning_model",
        _OPENAI,
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
        "tools_by_chat_completions",
        _OPENAI_CHAT,
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
    VendorRule(
        "schema_beside_tools",
        _GEMINI,
        lambda call: call.has_tools and call.output_schema is not None,
        "in_words",
        ("output_schema",),
        "Gemini refuses an output schema beside tools",
        "leave it to Coterie, which sends the schema in words",
        "https://github.com/googleapis/python-genai/issues/867",
    ),
    VendorRule(
        "optional_keys",
        _MESSAGES,
        lambda call: optional_keys(call.output_schema) > _MAX_OPTIONAL_KEYS,
        "in_words",
        ("output_schema",),
        f"Anthropic refuses an output format with more than {_MAX_OPTIONAL_KEYS} optional keys",
        "require more keys",
        _FORMAT_PAGE,
    ),
    VendorRule(
        "union_types",
        _MESSAGES,
        lambda call: union_types(call.output_schema) > _MAX_UNION_TYPES,
        "in_words",
        ("output_schema",),
        f"Anthropic refuses an output format with more than {_MAX_UNION_TYPES} keys of several "
        "types",
        "use fewer of them",
        _FORMAT_PAGE,
    ),
    VendorRule(
        "schema_of_no_object",
        _OF_OPENAI_KIND,
        lambda call: call.output_schema is not None and call.output_schema.get("type") != "object",
        "in_words",
        ("output_schema",),
        "OpenAI's APIs refuse an output schema that is not an object at its root",
        "give the schema the type object",
        _STRICT_PAGE,
    ),
    VendorRule(
        "large_schema",
        _OPENAI,
        lambda call: (
            depth(call.output_schema) > _MAX_DEPTH
            or properties(call.output_schema) > _MAX_PROPERTIES
            or enum_values(call.output_schema) > _MAX_ENUM_VALUES
        ),
        "in_words",
        ("output_schema",),
        f"OpenAI refuses an output schema with more than {_MAX_DEPTH} levels, {_MAX_PROPERTIES} "
        f"properties or {_MAX_ENUM_VALUES} enum values",
        "split the schema",
        _STRICT_PAGE,
    ),
)
"""Rules about the settings of a call."""
