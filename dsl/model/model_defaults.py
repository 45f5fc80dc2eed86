"""Which provider and model an agent asks: its own, or the defaults, or those given for a call."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, cast

from coterie.dsl.values import Json, NodePath

ModelSource = Literal["call", "own", "default", "provider_default"]
"""Which setting names a provider or a model; `provider_default`: `default_model` of the
provider.
"""

_LLM = "llm_config"


@dataclass(frozen=True, slots=True)
class ModelChoice:
    """A provider and a model, each with its source; None if nothing sets it."""

    provider: str | None
    model: str | None
    provider_source: ModelSource
    model_source: ModelSource

    @property
    def is_complete(self) -> bool:
        """Return whether both are set."""
        return self.provider is not None and self.model is not None

    def default_path(self, key: Literal["provider", "model"]) -> NodePath | None:
        """Return the path of the default that names it; None unless a default does."""
        match self.provider_source if key == "provider" else self.model_source:
            case "default":
                return (_LLM, f"default_{key}")
            case "provider_default":
                return (_LLM, "providers", str(self.provider), "default_model")
            case "own" | "call":
                return None


@dataclass(frozen=True, slots=True)
class ModelDefaults:
    """The defaults of a configuration."""

    provider: str | None = None
    model: str | None = None
    """Applies to the default provider only: other providers do not know the model."""
    by_provider: Mapping[str, str] = field(default_factory=dict[str, str])
    """`{provider: its default_model}`."""

    def choose(
        self, provider: str | None, model: str | None, call: str | None = None
    ) -> ModelChoice:
        """Choose the provider and the model of an agent.

        Args:
            provider: The persona's own, if any.
            model: The persona's own, if any.
            call: `provider/model`, set by a call for every persona.
        """
        own: ModelSource = "own"
        source: ModelSource = own if provider else "default"
        if call is not None:
            provider, _, model = call.partition("/")
            source = own = "call"
        else:
            provider = provider or self.provider
        if model:
            return ModelChoice(provider, model, source, own)
        of_provider = self.by_provider.get(str(provider))
        if of_provider:
            return ModelChoice(provider, of_provider, source, "provider_default")
        default = self.model if provider == self.provider else None
        return ModelChoice(provider, default or None, source, "default")


def read_defaults(config: Json) -> ModelDefaults:
    """Return the defaults of a configuration that is not parsed: `{"llm_config": {...}}`."""
    llm = _mapping(config.get(_LLM))
    sections = {name: _mapping(section) for name, section in _mapping(llm.get("providers")).items()}
    return ModelDefaults(
        _text(llm.get("default_provider")),
        _text(llm.get("default_model")),
        {
            name: text
            for name, section in sections.items()
            if (text := _text(section.get("default_model")))
        },
    )


def _mapping(value: object) -> Json:
    return cast("Json", value) if isinstance(value, dict) else {}


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None
