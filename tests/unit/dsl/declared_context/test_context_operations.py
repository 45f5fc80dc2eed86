"""The operations of `context_updates`: what each makes of a value, and that nothing changes it."""

import copy
from itertools import permutations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coterie.dsl.errors import ContextConflict, ContextUpdateFailed
from coterie.dsl.evaluate.branch_writes import joined
from coterie.dsl.evaluate.context import apply
from coterie.dsl.evaluate.context_writes import OPERATIONS, ContextWrite, filled_write
from coterie.dsl.paths import get, parse, path_text
from coterie.dsl.templates.path_templates import fixed_part, key_segments
from tests.support.documents.strategies import json_objects, json_values, keys

PRESENT: dict[str, Any] = {
    "list": [1, 2, 1],
    "map": {"a": 1, "b": {"c": 2}},
    "number": 4,
    "text": "x",
    "none": None,
}


@pytest.mark.parametrize(
    ("path", "operation", "value", "after"),
    [
        ("list", "append", [3], [1, 2, 1, [3]]),
        ("new.list", "append", 3, [3]),
        ("list", "extend", [3, 4], [1, 2, 1, 3, 4]),
        ("new", "extend", [], []),
        ("map", "merge", {"b": {"d": 3}, "a": None}, {"b": {"c": 2, "d": 3}}),
        ("new", "merge", {"a": 1}, {"a": 1}),
        ("number", "increment", 2, 6),
        ("number", "increment", -0.5, 3.5),
        ("new", "increment", 1, 1),
        ("list", "remove", 1, [2]),
        ("list", "remove", True, [1, 2, 1]),
        ("map", "remove", "a", {"b": {"c": 2}}),
        ("text", None, {"append": 1}, {"append": 1}),
    ],
)
def test_an_operation_updates_the_value_that_is_there(
    path: str, operation: Any, value: Any, after: Any
) -> None:
    assert get(apply(PRESENT, [ContextWrite(path, value, operation)]), parse(path)) == after


def test_removing_from_what_is_missing_writes_nothing() -> None:
    nothing, number = ContextWrite("new.list", 1, "remove"), ContextWrite("number", 5)
    assert apply(PRESENT, [nothing]) == PRESENT
    assert apply(PRESENT, [nothing, number]) == PRESENT | {"number": 5}


def test_a_policy_leaves_operations_of_several_branches_one_after_another() -> None:
    first = ContextWrite("list", [7])
    then = [ContextWrite("list", 8, "append"), ContextWrite("number", 9)]
    assert joined({"a": [first], "b": then}, {"list": "replace"}, str) == (first, *then)


@pytest.mark.parametrize(
    ("path", "operation", "value", "reason"),
    [
        ("text", "append", 1, "'text': `append` needs a list there, and it holds a text"),
        ("none", "extend", [1], "'none': `extend` needs a list there, and it holds null"),
        ("list", "extend", 1, "'list': `extend` takes a list, and its value is a number"),
        ("list", "merge", {}, "`merge` needs a mapping there, and it holds a list"),
        ("map", "merge", [], "`merge` takes a mapping, and its value is a list"),
        ("text", "increment", 1, "`increment` needs a number there, and it holds a text"),
        ("number", "increment", True, "`increment` takes a number, and its value is a boolean"),
        ("number", "remove", 4, "`remove` needs a list or a mapping there"),
        ("map", "remove", 4, "`remove` takes a key of the mapping"),
    ],
)
def test_an_operation_on_another_type_names_the_path_and_the_reason(
    path: str, operation: Any, value: Any, reason: str
) -> None:
    with pytest.raises(ContextUpdateFailed) as failed:
        apply(PRESENT, [ContextWrite(path, value, operation)])
    assert reason in str(failed.value)


def test_a_sum_beyond_all_numbers_is_a_failure() -> None:
    with pytest.raises(ContextUpdateFailed, match="beyond all numbers"):
        apply({"n": 1e308}, [ContextWrite("n", 1e308, "increment")])


writes = st.builds(
    ContextWrite,
    st.sampled_from(["a", "b", "a.c", "id.items"]),
    json_values,
    st.sampled_from([None, *OPERATIONS]),
)


@given(json_objects, st.lists(writes, max_size=5))
def test_writes_never_change_the_context_that_they_are_applied_to(
    context: Any, several: list[ContextWrite]
) -> None:
    before, given_writes = copy.deepcopy(context), copy.deepcopy(several)
    for write in several:
        try:
            context = apply(context, [write])
        except (ContextUpdateFailed, ContextConflict):
            continue
    assert several == given_writes
    after = apply(before, [])
    assert after == before


@given(st.lists(keys, min_size=1, max_size=4).map(tuple))
def test_a_path_with_any_segments_is_read_as_it_was_written(path: tuple[str, ...]) -> None:
    assert parse(path_text(path)) == path


@pytest.mark.parametrize(
    ("key", "segments", "fixed"),
    [
        ("a.b", ("a", "b"), ("a", "b")),
        ("progress.{{ task.id }}.status", ("progress", "{{ task.id }}", "status"), ("progress",)),
        ("{{ a.b }}", ("{{ a.b }}",), ()),
        ("by.v{{ n }}_x.y", ("by", "v{{ n }}_x", "y"), ("by",)),
    ],
)
def test_the_template_of_a_key_is_one_segment(
    key: str, segments: tuple[str, ...], fixed: tuple[str, ...]
) -> None:
    assert key_segments(key) == segments
    assert fixed_part(key) == fixed


def test_a_filled_segment_keeps_its_dots() -> None:
    names = {"task": {"id": "src/a.py"}, "n": 3}
    write = filled_write("progress.{{ task.id }}.status", {"append": "{{ n }}"}, names)
    assert write == ContextWrite('progress["src/a.py"].status', 3, "append")
    assert apply({}, [write]) == {"progress": {"src/a.py": {"status": [3]}}}


def test_a_template_that_gives_an_operation_replaces() -> None:
    write = filled_write("a", "{{ value }}", {"value": {"append": 1}})
    assert apply({"a": []}, [write]) == {"a": {"append": 1}}


commuting = st.sampled_from(["append", "extend", "increment"])


@given(st.dictionaries(st.sampled_from(["x", "y", "z"]), st.integers(-5, 5), min_size=2), commuting)
def test_branches_with_one_commuting_operation_join_alike_in_every_order_of_their_ends(
    amounts: dict[str, int], operation: Any
) -> None:
    def write(amount: int) -> ContextWrite:
        return ContextWrite("a.b", [amount] if operation == "extend" else amount, operation)

    written = sorted(amounts)
    ends = {
        str(apply({}, joined({name: ended[name] for name in written}, {}, str)))
        for order in permutations(written)
        for ended in [{name: [write(amounts[name])] for name in order}]
    }
    assert len(ends) == 1


def _by(**branches: list[tuple[Any, ...]]) -> dict[str, list[ContextWrite]]:
    return {name: [ContextWrite(*write) for write in own] for name, own in branches.items()}


@pytest.mark.parametrize(
    "branches",
    [
        _by(left=[("a", 1, "append")], right=[("a", [2], "extend")]),
        _by(left=[("a", 1, "increment")], right=[("a", 2, "increment")]),
        _by(left=[("a", {"x": 1}, "merge")], right=[("a", {"y": {"z": 2}}, "merge")]),
        _by(left=[("a.x", 1)], right=[("a.y", 1)]),
        _by(left=[("a", 1), ("a", 2, "increment")], right=[("b", 1)]),
    ],
)
def test_branches_that_commute_or_write_apart_do_not_conflict(branches: Any) -> None:
    assert joined(branches, {}, str) == tuple(w for own in branches.values() for w in own)


@pytest.mark.parametrize(
    "branches",
    [
        _by(left=[("a", 1)], right=[("a", 1)]),
        _by(left=[("a", 1)], right=[("a.b", 1)]),
        _by(left=[("a", 1, "append")], right=[("a", [1])]),
        _by(left=[("a", 1, "append")], right=[("a", 1, "remove")]),
        _by(left=[("a.b", 1, "append")], right=[("a", {"b": []}, "merge")]),
        _by(left=[("a", {"x": 1}, "merge")], right=[("a", {"x": 2}, "merge")]),
        _by(left=[("a", 1, "increment")], right=[("b", 1)], late=[("a", 0)]),
    ],
)
def test_branches_conflict_where_an_order_would_decide(branches: Any) -> None:
    with pytest.raises(ContextConflict, match="all set the context's"):
        joined(branches, {}, str)


def test_a_policy_decides_between_branches_that_replace() -> None:
    both = _by(left=[("a", 1), ("a", [2])], right=[("b", 0), ("a", 3)])
    assert joined(both, {"a": "extend"}, str) == (ContextWrite("a", [2, 3]), ContextWrite("b", 0))
    mixed = _by(left=[("a", [1])], right=[("a", 2, "append")])
    assert apply({}, joined(mixed, {"a": "replace"}, str)) == {"a": [1, 2]}
    with pytest.raises(ContextConflict):
        joined(mixed, {"a": "extend"}, str)
