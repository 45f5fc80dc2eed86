"""What a declared context makes of starts, writes and resets."""

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import JsonValue

from coterie.dsl.errors import ContextConflict, InvalidContext
from coterie.dsl.evaluate.context import apply, replacing
from coterie.dsl.evaluate.declared_values import merged, missing_inputs, reset, started
from coterie.dsl.model.context.declarations import Declarations, DeclaredPath, declared_above
from coterie.dsl.model.merge import deep_merge
from coterie.dsl.values import Json


def updated(context: Json, updates: Mapping[str, JsonValue], declared: Declarations) -> Json:
    return apply(context, replacing(updates), declared)


def path(
    default: JsonValue = None, keep_last: int | None = None, **schema: JsonValue
) -> DeclaredPath:
    return DeclaredPath(schema=schema, default=default, keep_last=keep_last)


def required(**schema: JsonValue) -> DeclaredPath:
    return DeclaredPath(schema=schema, required=True)


DECLARED = {
    "goal": required(type="string", minLength=3),
    "strategy": path("bold", enum=["bold", "careful"]),
    "memory.short_term": path([], 3, type="array"),
    "memory.banned": path([], type="array", items={"type": "string"}),
    "progress": path({}, type="object"),
    "progress.done": path(0, type="integer"),
}
START: Json = {"goal": "a tree"}


def test_a_start_gets_the_defaults_of_what_it_does_not_give() -> None:
    assert started(START, DECLARED) == {
        "goal": "a tree",
        "strategy": "bold",
        "memory": {"short_term": [], "banned": []},
        "progress": {"done": 0},
    }
    assert START == {"goal": "a tree"}


def test_a_start_without_declarations_is_free() -> None:
    given: Json = {"any": {"thing": 1}}
    assert started(given, {}) is given


@pytest.mark.parametrize(
    ("context", "message"),
    [
        ({}, "goal is missing: a text (minLength 3)"),
        ({"goal": 7}, "goal is a number, not a text"),
        ({"goal": "a"}, "goal has 1 characters, not at least 3"),
        (
            {**START, "strategy": "wild"},
            'strategy is "wild", not one of "bold", "careful"',
        ),
        ({**START, "gaol": 1}, "'gaol' is not declared"),
        ({**START, "gaol": 1}, "did you mean 'goal'?"),
        ({**START, "memory": 5}, "'memory' is a number, not a mapping with memory.banned"),
        ({**START, "memory": {"shortterm": []}}, "did you mean 'memory.short_term'?"),
        ({**START, "memory.banned": []}, "has dots, which only a path has; nest the mappings"),
        ({**START, "progress": {"done": "no"}}, "progress.done is a text, not a whole number"),
    ],
)
def test_a_start_that_does_not_fit_is_refused_by_path(context: Json, message: str) -> None:
    with pytest.raises(InvalidContext) as refused:
        started(context, DECLARED)
    assert str(refused.value).startswith("the context of the start does not fit")
    assert message in str(refused.value)


def test_a_start_reports_everything_at_once() -> None:
    with pytest.raises(InvalidContext) as refused:
        started({"strategy": 1, "memory": {"banned": [1]}}, DECLARED)
    for path_named in ("goal", "strategy", "memory.banned"):
        assert path_named in str(refused.value)


def test_the_missing_inputs_are_named_in_written_order() -> None:
    assert missing_inputs({}, DECLARED) == ["goal"]
    assert missing_inputs(START, DECLARED) == []


def test_a_write_keeps_the_latest_items() -> None:
    context = started(START, DECLARED)
    for length in range(1, 6):
        context = updated(context, {"memory.short_term": [*range(length)]}, DECLARED)
        assert context["memory"] == {"short_term": [*range(length)][-3:], "banned": []}


def test_a_start_keeps_the_latest_items() -> None:
    context = started({**START, "memory": {"short_term": [1, 2, 3, 4]}}, DECLARED)
    assert context["memory"] == {"short_term": [2, 3, 4], "banned": []}


def test_below_a_declared_map_every_key_is_free() -> None:
    context = updated(started(START, DECLARED), {"progress.one.status": "x"}, DECLARED)
    assert context["progress"] == {"done": 0, "one": {"status": "x"}}


def test_a_write_of_a_map_brings_back_the_defaults_below_it() -> None:
    context = updated(started(START, DECLARED), {"progress": {"one": 1}}, DECLARED)
    assert context["progress"] == {"done": 0, "one": 1}


@pytest.mark.parametrize(
    ("updates", "message"),
    [
        ({"goal": None}, "goal is null, not a text"),
        ({"gaol": "x"}, "'gaol' is not declared"),
        ({"memory": {}}, "'memory' is not declared itself; write one of memory.banned, memory.s"),
        ({"memory.long_term": []}, "'memory.long_term' is not declared"),
        ({"memory.banned": [1]}, "memory.banned[0] is a number, not a text"),
        ({"progress": {"done": 1.5}}, "progress.done is a number, not a whole number"),
        ({"progress.done": "x"}, "progress.done is a text, not a whole number"),
    ],
)
def test_a_write_that_does_not_fit_is_refused(updates: Json, message: str) -> None:
    with pytest.raises(InvalidContext) as refused:
        updated(started(START, DECLARED), updates, DECLARED)
    assert str(refused.value).count(message) == 1


def test_a_write_through_a_value_is_a_conflict_as_without_declarations() -> None:
    with pytest.raises(ContextConflict):
        updated(started(START, DECLARED), {"goal.title": "x"}, DECLARED)


def test_a_schema_that_cannot_be_checked_refuses_the_value() -> None:
    declared = {"a": DeclaredPath(schema={"$ref": "#/$defs/none"})}
    with pytest.raises(InvalidContext, match="a cannot be checked"):
        updated({}, {"a": 1}, declared)


def test_a_segment_with_dots_is_no_declared_path() -> None:
    assert declared_above(("memory.short_term",), DECLARED) is None
    assert declared_above(("progress", "done.twice"), DECLARED) == "progress"


def test_a_reset_sets_paths_and_those_below_them_to_their_defaults() -> None:
    context = updated(
        started(START, DECLARED),
        {"progress": {"one": 1, "done": 4}, "strategy": "careful", "memory.short_term": [1]},
        DECLARED,
    )
    again = reset(context, ["progress", "memory.short_term"], DECLARED)
    assert again == {**started(START, DECLARED), "strategy": "careful"}


def test_the_input_of_a_team_is_held_against_the_declarations() -> None:
    context = started(START, DECLARED)

    def given_to_team(given: Json) -> Json:
        return merged(context, given, deep_merge(context, given), DECLARED)

    assert given_to_team({"goal": "a bush"})["goal"] == "a bush"
    assert given_to_team({"progress": {"x": 1}})["progress"] == {"done": 0, "x": 1}
    refused: list[Json] = [{"goal": 1}, {"gaol": "x"}, {"memory": {"banned": [2]}}]
    for wrong in refused:
        with pytest.raises(InvalidContext):
            given_to_team(wrong)


@given(st.lists(st.lists(st.integers(), max_size=9), max_size=9), st.integers(1, 5))
def test_keep_last_never_leaves_more_items_and_always_the_latest(
    writes: list[list[JsonValue]], kept: int
) -> None:
    declared = {"a": path([], kept, type="array")}
    context = started({}, declared)
    for items in writes:
        context = updated(context, {"a": items}, declared)
        assert context == {"a": items[-kept:]}
