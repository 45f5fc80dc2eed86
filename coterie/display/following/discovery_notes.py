"""Report what functions collected for prompts, once, with the context windows of the models."""

import asyncio
from collections.abc import Iterator, Mapping, Sequence

from coterie.activities.public_prices import context_window
from coterie.dsl.model.sections.provider_document import ProviderSection, provider_kind
from coterie.text.problems import counted
from coterie.workflows.core.views import TrailEntry

LARGE_SHARE = 0.5
"""Share of a model's context window; prompts, history and the answer need the rest."""


def found_lines(entry: TrailEntry, windows: Mapping[str, int]) -> Iterator[str]:
    """Yield the size, and a warning for each model whose context window it mostly fills.

    Args:
        entry: The trail entry for the end of the step.
        windows: Known context windows, `{provider/model: tokens}`.
    """
    discovery = entry.found
    if discovery is None:
        return
    tokens = discovery.estimated_tokens
    yield (
        f"{entry.team}/{entry.step}: {counted(discovery.files, 'file')}, "
        f"about {counted(tokens, 'token')} (estimated: 4 bytes per token)"
    )
    for model in discovery.models:
        window = windows.get(model)
        if window is not None and tokens > LARGE_SHARE * window:
            yield (
                f"warning: in a prompt, this takes about {tokens / window:.0%} of the context of "
                f"{model} ({counted(window, 'token')}); collect less with `include`, `exclude` "
                "or `max_bytes`"
            )


class DiscoveryNotes:
    """Reports collected sizes, and warns if they fill a model's context window."""

    def __init__(self, providers: Mapping[str, ProviderSection]) -> None:
        """Prepare the notes.

        Args:
            providers: Provider settings; a provider without settings is known by its name.
        """
        self._providers = providers
        self._windows: dict[str, int | None] = {}
        self._reported: set[str] = set()

    async def lines(self, news: Sequence[TrailEntry]) -> list[str]:
        """Return the lines for new trail entries."""
        discoveries = [entry for entry in news if entry.found is not None]
        models = {model for entry in discoveries if entry.found for model in entry.found.models}
        for model in models - self._windows.keys():  # the first lookup loads a library
            self._windows[model] = await asyncio.to_thread(self._window, model)
        windows = {model: size for model, size in self._windows.items() if size is not None}
        lines = dict.fromkeys(line for entry in discoveries for line in found_lines(entry, windows))
        new_lines = [line for line in lines if line not in self._reported]
        self._reported.update(new_lines)
        return new_lines

    def _window(self, model: str) -> int | None:
        provider, _, name = model.partition("/")
        section = self._providers.get(provider)
        api_base = None if section is None else section.api_base
        return context_window(provider_kind(provider, section), api_base, name)
