"""One rule says which provider and model an agent asks, and who named them."""

import pytest

from coterie.dsl.model.model_defaults import ModelChoice, ModelDefaults, read_defaults
from coterie.dsl.model.sections.provider_document import LlmConfig
from coterie.dsl.values import Json

LLM: Json = {
    "default_provider": "anthropic",
    "default_model": "large",
    "providers": {"openai": {"default_model": "small"}, "scripted": {}},
}
DEFAULTS = ModelDefaults("anthropic", "large", {"openai": "small"})


@pytest.mark.parametrize(
    ("provider", "model", "call", "chosen"),
    [
        (None, None, None, ModelChoice("anthropic", "large", "default", "default")),
        ("", "", None, ModelChoice("anthropic", "large", "default", "default")),
        ("anthropic", None, None, ModelChoice("anthropic", "large", "own", "default")),
        ("openai", None, None, ModelChoice("openai", "small", "own", "provider_default")),
        ("openai", "mine", None, ModelChoice("openai", "mine", "own", "own")),
        (None, "mine", None, ModelChoice("anthropic", "mine", "default", "own")),
        ("scripted", None, None, ModelChoice("scripted", None, "own", "default")),
        ("openai", "mine", "scripted/demo", ModelChoice("scripted", "demo", "call", "call")),
        (
            "anthropic",
            "mine",
            "openai/",
            ModelChoice("openai", "small", "call", "provider_default"),
        ),
    ],
)
def test_the_call_wins_then_the_persona_then_its_provider_then_the_defaults(
    provider: str | None, model: str | None, call: str | None, chosen: ModelChoice
) -> None:
    assert DEFAULTS.choose(provider, model, call) == chosen


def test_a_default_model_counts_for_the_default_provider_only() -> None:
    assert not DEFAULTS.choose("scripted", None).is_complete


def test_a_parsed_and_a_plain_configuration_have_the_same_defaults() -> None:
    assert LlmConfig.model_validate(LLM).defaults == DEFAULTS
    assert read_defaults({"llm_config": LLM}) == DEFAULTS


@pytest.mark.parametrize("config", [{}, {"llm_config": None}, {"llm_config": {"providers": [1]}}])
def test_a_configuration_without_defaults_names_nothing(config: Json) -> None:
    assert read_defaults(config).choose(None, None) == ModelChoice(None, None, "default", "default")


def test_a_default_says_where_it_is_written() -> None:
    chosen = DEFAULTS.choose("openai", None)
    assert chosen.default_path("provider") is None
    assert chosen.default_path("model") == ("llm_config", "providers", "openai", "default_model")
    chosen = DEFAULTS.choose(None, None)
    assert chosen.default_path("provider") == ("llm_config", "default_provider")
    assert chosen.default_path("model") == ("llm_config", "default_model")
