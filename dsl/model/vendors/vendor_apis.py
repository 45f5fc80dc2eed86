"""Which API a provider speaks: the servers of one API share the rules of `vendor_rules`."""

from typing import Literal
from urllib.parse import urlsplit

from coterie.dsl.model.model_options import Cloud

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

_ANTHROPIC_HOSTS = (".anthropic.com",)
_OPENAI_HOSTS = (".openai.com", ".openai.azure.com")
_GEMINI_HOSTS = ("generativelanguage.googleapis.com", "aiplatform.googleapis.com")


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
    match kind:
        case "anthropic":
            own = api_base is None or cloud is not None or _is_at(api_base, _ANTHROPIC_HOSTS)
            return "messages" if own else "compatible_messages"
        case "openai":
            return _openai_api(openai_api(api, api_base), api_base)
        case _:
            return None


def openai_api(api: OpenAIApi | None, api_base: str | None) -> OpenAIApi:
    """Return the API to call; compatible servers mostly have Chat Completions only."""
    return api or ("responses" if api_base is None else "chat")


def _openai_api(api: OpenAIApi, api_base: str | None) -> VendorApi:
    if api_base is None or _is_at(api_base, _OPENAI_HOSTS):
        return "responses" if api == "responses" else "openai_chat"
    if api == "responses":
        return "compatible_responses"
    return "gemini_chat" if _is_at(api_base, _GEMINI_HOSTS) else "compatible_chat"


def _is_at(address: str, hosts: tuple[str, ...]) -> bool:
    try:
        return (urlsplit(address).hostname or "").endswith(hosts)
    except ValueError:
        return False
