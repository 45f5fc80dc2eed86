"""A patch makes one state of another, and says only what differs."""

from hypothesis import given
from hypothesis import strategies as st
from pydantic import JsonValue

from coterie.dsl.json_values import json_equal
from coterie.gateway.doors.agui.state_patches import state_patch
from tests.support.watching.agui_reading import patched

LEAVES = st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from(["", "a/b", "~1"])
VALUES: st.SearchStrategy[JsonValue] = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["a", "a/b", "~", "-1", ""]), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(VALUES, VALUES)
def test_a_patch_makes_one_state_of_another(before: JsonValue, after: JsonValue) -> None:
    state = before
    for operation in state_patch(before, after):
        state = patched(state, dict(operation))
    assert json_equal(state, after)


def test_a_patch_says_only_what_differs() -> None:
    before: JsonValue = {"goal": "x", "pages": [1, 2], "a/b": {"~": 1, "old": 2}}
    after: JsonValue = {"goal": "x", "pages": [1, 2, 3], "a/b": {"~": 2}, "new": None}
    assert list(state_patch(before, after)) == [
        {"op": "add", "path": "/pages/-", "value": 3},
        {"op": "remove", "path": "/a~1b/old"},
        {"op": "replace", "path": "/a~1b/~0", "value": 2},
        {"op": "add", "path": "/new", "value": None},
    ]
    assert list(state_patch(after, after)) == []
