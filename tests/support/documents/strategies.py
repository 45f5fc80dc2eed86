"""Hypothesis strategies for the values that travel in runs."""

from hypothesis import strategies as st
from pydantic import JsonValue

from coterie.dsl.values import Json

texts = st.text(st.characters(exclude_categories=("Cs",)), max_size=12)
scalars = (
    st.none()
    | st.booleans()
    | st.integers(-(10**6), 10**6)
    | st.floats(allow_nan=False, allow_infinity=False)
    | texts
)
keys = st.sampled_from(["a", "b", "c", "id", "items", "status"]) | texts


def _containers(inner: st.SearchStrategy[JsonValue]) -> st.SearchStrategy[JsonValue]:
    return st.lists(inner, max_size=4) | st.dictionaries(keys, inner, max_size=4)


json_values: st.SearchStrategy[JsonValue] = st.recursive(scalars, _containers, max_leaves=12)
json_objects: st.SearchStrategy[Json] = st.dictionaries(keys, json_values, max_size=5)
identifiers = st.from_regex(r"[a-z_][a-z0-9_]{0,8}", fullmatch=True)
"""Path segments: words, so that they need no quoting anywhere."""
