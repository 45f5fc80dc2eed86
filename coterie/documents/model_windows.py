"""Find the context windows of models: the configured ones, else the bundled public ones."""

from collections.abc import Mapping

from coterie.activities.public_prices import context_window
from coterie.documents.product_capabilities import BUILT_IN_PROVIDERS
from coterie.dsl.model.sections.provider_document import ProviderSection, provider_kind
from coterie.dsl.model.vendors.vendors import VENDORS


def known_window(providers: Mapping[str, ProviderSection], provider: str, model: str) -> int | None:
    """Return the context window of a model in tokens; None if it is not known."""
    section = providers.get(provider) or BUILT_IN_PROVIDERS.get(provider)
    if section is not None and section.context_window is not None:
        return section.context_window
    kind = provider_kind(provider, section)
    if kind not in VENDORS:
        return None
    return context_window(kind, None if section is None else section.api_base, model)
