"""The vendors of models: all that Coterie knows of one, and of its APIs, stands in its rows.

To add a vendor, add its row and the rows of its APIs.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Literal, NamedTuple
from urllib.parse import urlsplit

from coterie.dsl.model.model_options import Cloud
from coterie.dsl.model.vendors import vendor_rules as rules
from coterie.dsl.model.vendors.vendor_rules import (
    Action,
    CallSettings,
    ToolSchemaRule,
    VendorRule,
)

VendorApi = Literal[
    "messages",
    "compatible_messages",
    "responses",
    "openai_chat",
    "gemini_chat",
    "compatible_responses",
    "compatible_chat",
]
"""Messages at Anthropic's own servers or in a cloud, and at anybody else's; Responses and Chat
Completions at OpenAI's own servers or Azure's, Chat Completions at Google's, for Gemini, and both
at anybody else's."""

OpenAIApi = Literal["responses", "chat"]


class Api(NamedTuple):
    """What the servers of one API take."""

    vendor: str = "a compatible server"
    """Its name for people."""
    call_rules: tuple[VendorRule, ...] = ()
    refused_schemas: frozenset[ToolSchemaRule] = frozenset()
    """What it refuses of the schemas of tools."""
    max_tools: int | None = None
    """Tools of one request; what is beyond is left out, and validation warns of it."""
    max_description: int | None = None
    """Characters of a tool's description; the rest is cut off with a mark."""


_OF_OPENAI = frozenset[ToolSchemaRule](
    {
        "forms_at_root",
        "array_without_items",
        "items_of_tuple",
        "boolean_schema",
        "reference_outside",
    }
)

# https://platform.openai.com/docs/guides/function-calling,
# https://platform.claude.com/docs/en/agents-and-tools/tool-use/implement-tool-use,
# https://ai.google.dev/api/caching#Schema
APIS: dict[VendorApi, Api] = {
    "messages": Api(
        "Anthropic",
        (*rules.OF_MESSAGES, *rules.OF_ANTHROPIC),
        frozenset({"forms_at_root", "property_name", "items_of_tuple", "reference_outside"}),
    ),
    "compatible_messages": Api(call_rules=rules.OF_MESSAGES),
    "responses": Api(
        "OpenAI",
        (*rules.OF_OPENAI_APIS, *rules.OF_RESPONSES, *rules.OF_OPENAI),
        _OF_OPENAI,
        max_tools=128,
        max_description=1_024,
    ),
    "openai_chat": Api(
        "OpenAI",
        (*rules.OF_OPENAI_APIS, *rules.OF_OPENAI, *rules.OF_OPENAI_CHAT, *rules.OF_CHAT),
        _OF_OPENAI,
        max_tools=128,
        max_description=1_024,
    ),
    "gemini_chat": Api(
        "Gemini",
        (*rules.OF_OPENAI_APIS, *rules.OF_GEMINI, *rules.OF_CHAT),
        _OF_OPENAI | frozenset[ToolSchemaRule]({"property_name", "required_unknown"}),
        max_tools=128,
    ),
    "compatible_responses": Api(call_rules=(*rules.OF_OPENAI_APIS, *rules.OF_RESPONSES)),
    "compatible_chat": Api(call_rules=(*rules.OF_OPENAI_APIS, *rules.OF_CHAT)),
}


VendorClient = Literal["anthropic", "openai"]
"""The clients of `activities/providers`, which speak the APIs of vendors."""


class Vendor(NamedTuple):
    """One vendor; its key in `VENDORS` is its providers' `kind`, and its name in public prices."""

    client: VendorClient
    url: str
    """The base URL of its own servers."""
    key_env: str
    """The environment variable where its own tools look for the key."""
    api: Callable[[OpenAIApi | None, str | None, Cloud | None], VendorApi]
    """Returns the API by what a provider's section says: `api`, `api_base` and `cloud`."""
    has_batches: bool = False
    """Whether Coterie uses the batch API of its own servers."""
    ignored_variables: Mapping[str, str] = {}
    """`{variable that its SDK reads: the key of the section that counts instead}`."""


def _anthropic_api(_: OpenAIApi | None, api_base: str | None, cloud: Cloud | None) -> VendorApi:
    own = api_base is None or cloud is not None or _is_at(api_base, ".anthropic.com")
    return "messages" if own else "compatible_messages"


def _openai_api(api: OpenAIApi | None, api_base: str | None, _: Cloud | None) -> VendorApi:
    # Compatible servers mostly have Chat Completions only.
    is_responses = api == "responses" or (api is None and api_base is None)
    if api_base is None or _is_at(api_base, ".openai.com", ".openai.azure.com"):
        return "responses" if is_responses else "openai_chat"
    if is_responses:
        return "compatible_responses"
    is_gemini = _is_at(api_base, "generativelanguage.googleapis.com", "aiplatform.googleapis.com")
    return "gemini_chat" if is_gemini else "compatible_chat"


def _is_at(address: str, *hosts: str) -> bool:
    try:
        return (urlsplit(address).hostname or "").endswith(hosts)
    except ValueError:
        return False


VENDORS: dict[str, Vendor] = {
    "anthropic": Vendor(
        "anthropic",
        "https://api.anthropic.com",
        "ANTHROPIC_API_KEY",
        _anthropic_api,
        ignored_variables={
            "ANTHROPIC_AUTH_TOKEN": "`headers` with `Authorization`",
            "ANTHROPIC_BASE_URL": "`api_base`",
            "ANTHROPIC_BEDROCK_MANTLE_BASE_URL": "`api_base`",
            "ANTHROPIC_CUSTOM_HEADERS": "`headers`",
            "ANTHROPIC_FOUNDRY_API_KEY": "`api_key_env`",
            "ANTHROPIC_FOUNDRY_BASE_URL": "`api_base`",
            "ANTHROPIC_FOUNDRY_RESOURCE": "`api_base`",
            "ANTHROPIC_PROFILE": "`api_key_env`",
            "ANTHROPIC_VERTEX_BASE_URL": "`api_base`",
            "ANTHROPIC_VERTEX_PROJECT_ID": "`project`",
            "CLOUD_ML_REGION": "`region`",
        },
    ),
    "openai": Vendor(
        "openai",
        "https://api.openai.com/v1",
        "OPENAI_API_KEY",
        _openai_api,
        has_batches=True,
        ignored_variables={
            "OPENAI_BASE_URL": "`api_base`",
            "OPENAI_CUSTOM_HEADERS": "`headers`",
            "OPENAI_ORG_ID": "`organization`",
            "OPENAI_PROJECT_ID": "`project`",
        },
    ),
}

BUILT_IN_KINDS = (*VENDORS, "scripted")
"""The kinds of providers that Coterie has; packages may add others."""


def vendor_api(
    kind: str, api: OpenAIApi | None, api_base: str | None, cloud: Cloud | None
) -> VendorApi | None:
    """Return the API of a provider; None for scripted answers and kinds of packages.

    Args:
        kind: The adapter.
        api: What the provider's section says.
        api_base: The same; None for the vendor's own address.
        cloud: The same.
    """
    vendor = VENDORS.get(kind)
    return None if vendor is None else vendor.api(api, api_base, cloud)


def broken_rules(api: VendorApi | None, call: CallSettings, action: Action) -> Iterator[VendorRule]:
    """Yield the rules of an action that an API has and that the call breaks."""
    for rule in () if api is None else APIS[api].call_rules:
        if rule.action == action and rule.breaks(call):
            yield rule


def refusing_apis(rule: ToolSchemaRule) -> frozenset[VendorApi]:
    """Return the APIs that refuse a form of schemas."""
    return frozenset(name for name, api in APIS.items() if rule in api.refused_schemas)


def vendor_names(apis: Iterable[VendorApi]) -> tuple[str, ...]:
    """Return the vendors of APIs, for people, each once."""
    return tuple(sorted({APIS[api].vendor for api in apis}))


_CUT = " [cut off]"


def offered_description(text: str, api: VendorApi | None) -> str:
    """Return the description of a tool as an API takes it."""
    most = None if api is None else APIS[api].max_description
    if most is None or len(text) <= most:
        return text
    return f"{text[: most - len(_CUT)]}{_CUT}"
