"""Parts of rules between the keys of a mapping, as JSON Schema."""

from coterie.dsl.values import Json


def has(*keys: str) -> Json:
    """Demand these keys."""
    return {"required": list(keys)}


def has_key(key: str) -> Json:
    """Demand a key with a value."""
    return {**has(key), "properties": {key: {"not": {"type": "null"}}}}


def none_of(*keys: str) -> Json:
    """Refuse these keys."""
    return {"not": {"anyOf": [has(key) for key in keys]}}


NOT_EMPTY: Json = {"type": "array", "minItems": 1}
