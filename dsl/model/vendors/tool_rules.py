"""What vendors refuse of the tools that a request offers: a row for each rule.

A schema with such a form is rewritten for the model, and a call gets its tool's own names again
(`dsl/json_schema/offered_schema.py`). Tools beyond a number are left out. Validation warns of both.
"""

from collections.abc import Iterable
from typing import Literal, NamedTuple

from coterie.dsl.model.vendors.vendor_apis import VendorApi

ToolSchemaRule = Literal[
    "forms_at_root",
    "property_name",
    "array_without_items",
    "items_of_tuple",
    "boolean_schema",
    "required_unknown",
    "reference_outside",
]


class VendorToolRule(NamedTuple):
    """One form of a schema that vendors refuse."""

    apis: frozenset[VendorApi]
    """Where it holds."""
    finding: str
    """What the schema has."""
    source: str
    """The vendor's page, or a report of its answer."""


_ANTHROPIC = frozenset[VendorApi]({"messages"})
_OPENAI = frozenset[VendorApi]({"responses", "openai_chat"})
_GEMINI = frozenset[VendorApi]({"gemini_chat"})

_TOOLS_PAGE = "https://platform.claude.com/docs/en/agents-and-tools/tool-use/implement-tool-use"
_FUNCTIONS_PAGE = "https://platform.openai.com/docs/guides/function-calling"
_SCHEMA_PAGE = "https://ai.google.dev/api/caching#Schema"

TOOL_SCHEMA_RULES: dict[ToolSchemaRule, VendorToolRule] = {
    "forms_at_root": VendorToolRule(
        _ANTHROPIC | _OPENAI | _GEMINI,
        "a choice such as `anyOf` at its root",
        _TOOLS_PAGE,
    ),
    "property_name": VendorToolRule(
        _ANTHROPIC | _GEMINI,
        "a property whose name has other characters than letters, digits, `_`, `.` and `-`",
        _TOOLS_PAGE,
    ),
    "array_without_items": VendorToolRule(
        _OPENAI | _GEMINI, "an array without `items`", _FUNCTIONS_PAGE
    ),
    "items_of_tuple": VendorToolRule(
        _ANTHROPIC | _OPENAI | _GEMINI, "a list of schemas as `items`", _TOOLS_PAGE
    ),
    "boolean_schema": VendorToolRule(
        _OPENAI | _GEMINI, "`true` or `false` in the place of a schema", _FUNCTIONS_PAGE
    ),
    "required_unknown": VendorToolRule(
        _GEMINI, "a name in `required` that `properties` does not have", _SCHEMA_PAGE
    ),
    "reference_outside": VendorToolRule(
        _ANTHROPIC | _OPENAI | _GEMINI, "a `$ref` to another document", _FUNCTIONS_PAGE
    ),
}

MAX_OFFERED: dict[VendorApi, int] = {"responses": 128, "openai_chat": 128, "gemini_chat": 128}
"""Tools of one request."""

MAX_DESCRIPTION: dict[VendorApi, int] = {"responses": 1_024, "openai_chat": 1_024}
"""Characters of a tool's description; the rest is cut off with a mark."""

_CUT = " [cut off]"


def vendor_names(apis: Iterable[VendorApi]) -> tuple[str, ...]:
    """Return the vendors of APIs, for people, each once."""
    names: dict[VendorApi, str] = {
        "messages": "Anthropic",
        "responses": "OpenAI",
        "openai_chat": "OpenAI",
        "gemini_chat": "Gemini",
    }
    return tuple(sorted({names.get(api, "a compatible server") for api in apis}))


def offered_description(text: str, api: VendorApi | None) -> str:
    """Return the description of a tool as an API takes it."""
    most = None if api is None else MAX_DESCRIPTION.get(api)
    if most is None or len(text) <= most:
        return text
    return f"{text[: most - len(_CUT)]}{_CUT}"
