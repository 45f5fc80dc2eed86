"""Deep merge: one rule for personas, overrides and files.

Mappings recurse, lists replace, the override wins, an override of null deletes the key.
"""

from collections.abc import Sequence
from typing import assert_never

from pydantic import JsonValue

from coterie.dsl.model.step_kinds.join_policies import MergePolicy
from coterie.dsl.values import Json


def deep_merge(base: Json, override: Json) -> Json:
    """Return a new mapping: `override` merged over `base`. It shares nothing with them."""
    merged = {key: copied(value) for key, value in base.items()}
    for key, value in override.items():
        below = merged.get(key)
        if value is None:
            merged.pop(key, None)
        elif isinstance(value, dict) and isinstance(below, dict):
            merged[key] = deep_merge(below, value)
        else:
            merged[key] = copied(value)
    return merged


def copied(value: JsonValue) -> JsonValue:
    """Return the same JSON value, sharing no mapping and no list with the original."""
    if isinstance(value, dict):
        return {key: copied(item) for key, item in value.items()}
    if isinstance(value, list):
        return [copied(item) for item in value]
    return value


def merged_by(policy: MergePolicy, values: Sequence[JsonValue]) -> JsonValue:
    """Combine several writers' values of one name, in written order.

    `replace`: the last one; `extend`: one list, lists joined; `merge`: one mapping, merged deeply,
    where a value that is not a mapping replaces the earlier ones.
    """
    match policy:
        case "replace":
            return values[-1]
        case "extend":
            parts = (value if isinstance(value, list) else [value] for value in values)
            return [item for part in parts for item in part]
        case "merge":
            result: JsonValue = {}
            for value in values:
                if isinstance(value, dict) and isinstance(result, dict):
                    result = deep_merge(result, value)
                else:
                    result = value
            return result
        case _:
            assert_never(policy)
