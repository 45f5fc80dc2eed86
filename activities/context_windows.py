"""Refuse a model call whose request is larger than the context window of its model.

The window is the persona's own, else the provider's by the worker's configuration, else the public
figure of the model. A model that none of these knows takes what it takes.
"""

from coterie.activities.contracts import FailureType
from coterie.activities.model_prices import Pricing
from coterie.activities.providers.provider import ModelRequest
from coterie.activities.providers.provider_failures import ProviderFailure
from coterie.activities.threads.run_threads import TURN_THREADS
from coterie.dsl.tool_loop.context_room import (
    CHARACTERS_OF_A_TOKEN,
    default_max_result,
    window_exceeded,
)

_ALWAYS_FITS = 4_000
"""Tokens for which no public figure is looked up: the first look-up takes half a second."""


class ContextWindows:
    """The context windows of the models that one turn calls."""

    def __init__(self, pricing: Pricing | None = None, own: int | None = None) -> None:
        """Start from the known sizes.

        Args:
            pricing: The worker's providers and the public data; without it, nothing is known.
            own: The window that the persona states.
        """
        self._pricing = pricing
        self._own = own

    async def of(self, provider: str, model: str) -> int | None:
        """Return the tokens that a model takes with its answer; None if unknown."""
        pricing = self._pricing
        if self._own is not None or pricing is None:
            return self._own
        if pricing.ready:
            return pricing.context_window(provider, model)
        return await TURN_THREADS.run(pricing.context_window, provider, model)

    async def room_of_results(
        self, provider: str, model: str, results: int, characters: int
    ) -> int | None:
        """Return how many characters each result of a turn may have; None if they surely fit.

        Args:
            provider: The provider's name.
            model: The model.
            results: Of the turn.
            characters: Of all of them.
        """
        surely = characters <= _ALWAYS_FITS * CHARACTERS_OF_A_TOKEN
        if surely and not self._is_stated(provider):
            return None
        window = await self.of(provider, model)
        return None if window is None else default_max_result(window, results)

    async def check(self, provider: str, request: ModelRequest, estimate: int) -> None:
        """Refuse a request that does not fit.

        Args:
            provider: The provider's name.
            request: The request; its own count of tokens wins.
            estimate: The estimated input.

        Raises:
            ProviderFailure: Says how many tokens it has, and what to do; never retried.
        """
        tokens = estimate if request.input_tokens is None else request.input_tokens
        if tokens <= _ALWAYS_FITS and not self._is_stated(provider):
            return
        window = await self.of(provider, request.model)
        excess = None if window is None else window_exceeded(tokens, request.max_tokens, window)
        if excess is None:
            return
        raise ProviderFailure(
            FailureType.CONTEXT_WINDOW_EXCEEDED,
            f"the request for {request.model!r} has about {excess.tokens:,} tokens, and its answer "
            f"may have {excess.max_tokens:,} (max_tokens), but the context window has "
            f"{excess.window:,}; send less, lower max_tokens, lower `max_result` of the tools, or "
            "set `compaction` in the persona for long conversations",
            retryable=False,
        )

    def _is_stated(self, provider: str) -> bool:
        """Whether the persona or the worker's configuration states the window."""
        pricing = self._pricing
        stated = None if pricing is None else pricing.configured_window(provider)
        return self._own is not None or stated is not None
