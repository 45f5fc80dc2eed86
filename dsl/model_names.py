"""Names of models: `provider/model`. A model's own name may have slashes, a provider's has none."""


def split_model(name: str) -> tuple[str, str]:
    """Return the provider and the model of `provider/model`; a part may be empty."""
    provider, _, model = name.partition("/")
    return provider, model
