"""Generates messages of conversations."""

from hypothesis import strategies as st

from coterie.activities.providers.message_model import (
    ImagePart,
    ModelMessage,
    OpaquePart,
    Part,
    StoredPart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolResultPart,
)
from coterie.dsl.values import Json

PROVIDERS = st.sampled_from(["anthropic", "openai", "gemini"])
_TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=12)


def json_objects() -> st.SearchStrategy[Json]:
    """Small mappings of JSON."""
    leaf = st.none() | st.booleans() | st.integers(-9, 9) | _TEXT
    value = st.recursive(leaf, lambda inner: st.lists(inner, max_size=2), max_leaves=3)
    return st.dictionaries(_TEXT, value, max_size=2)


def extras() -> st.SearchStrategy[dict[str, Json] | None]:
    """What a provider sent beside a part."""
    return st.none() | st.dictionaries(PROVIDERS, json_objects(), min_size=1, max_size=2)


def parts() -> st.SearchStrategy[Part]:
    """Parts of every type."""
    return st.one_of(
        st.builds(TextPart, _TEXT, extras()),
        st.builds(ToolCallPart, _TEXT, _TEXT, _TEXT, extras()),
        st.builds(ToolResultPart, _TEXT, _TEXT, st.booleans(), _media()),
        st.builds(ThinkingPart, PROVIDERS, _TEXT, json_objects()),
        _images(),
        st.builds(StoredPart, _TEXT),
        st.builds(OpaquePart, PROVIDERS, json_objects()),
    )


def _images() -> st.SearchStrategy[ImagePart]:
    return st.builds(ImagePart, st.just("image/png"), st.binary(max_size=12))


def _media() -> st.SearchStrategy[tuple[ImagePart | StoredPart, ...]]:
    return st.lists(_images() | st.builds(StoredPart, _TEXT), max_size=2).map(tuple)


def messages() -> st.SearchStrategy[ModelMessage]:
    """Messages with any parts in any order, also such as no provider would send."""
    content = st.lists(parts(), max_size=4).map(tuple)
    return st.builds(ModelMessage, st.sampled_from(["user", "assistant"]), content)
