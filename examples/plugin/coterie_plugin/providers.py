"""A model provider: a class with `complete`, built from its settings."""

from coterie import (
    Completion,
    ModelProvider,
    ModelRequest,
    ProviderError,
    ProviderSettings,
    TokenUsage,
)


class Parrot:
    """Repeats the last message. A real one calls its server here, with `settings.api_key`."""

    def __init__(self, settings: ProviderSettings) -> None:
        """Take the provider's section of the worker's configuration."""
        self._loud = settings.options.get("loud") is True

    async def complete(self, request: ModelRequest) -> Completion:
        """Answer one request."""
        if request.tools:
            raise ProviderError("a parrot calls no tools; use another provider for this persona")
        said = request.messages[-1].text
        answer = said.upper() if self._loud else said
        if request.on_text is not None:  # somebody watches the answer as it arrives
            request.on_text(answer)
        usage = TokenUsage(input_tokens=len(said.split()), output_tokens=len(answer.split()))
        return Completion.of(answer, "end", request.model, usage)


_: type[ModelProvider] = Parrot  # a type checker compares the signatures
