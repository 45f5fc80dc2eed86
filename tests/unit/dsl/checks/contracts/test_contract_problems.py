"""What a schema never accepts is told with its place, what is allowed, and the fix."""

from collections.abc import Callable

import pytest
from pydantic import JsonValue

from coterie.dsl.checks.contracts.contract_checks import (
    ContractMismatch,
    contract_mismatches,
    wanted_by,
)
from coterie.dsl.redaction import HIDDEN
from coterie.dsl.templates.literal_parts import known_parts
from coterie.dsl.values import Json


def mismatches(given: JsonValue, schema: Json, *, whole: bool = True) -> list[ContractMismatch]:
    return contract_mismatches(known_parts(given), schema, whole=whole)


def wrong(wanted: str, shown: str, *path: str | int, name: str = "its input") -> ContractMismatch:
    return ContractMismatch(path, f"{wanted} for {name}, not {shown}", wanted)


def of_type(wanted: str, shown: str, *path: str | int) -> ContractMismatch:
    name = next((repr(last) for last in path[-1:] if isinstance(last, str)), "its input")
    return wrong(wanted, shown, *path, name=name)._replace(of_type=True)


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ({"a": 1}, "a mapping"),
        ([1], "a list"),
        ("n {{ x }}", "a text around a template"),
        (None, "null"),
        ("x", "'x'"),
        ("y" * 40, f"'{'y' * 40}'"),
        ("y" * 41, f"'{'y' * 37}'..."),
        (1.5, "1.5"),
    ],
)
def test_a_value_of_another_kind_is_shown_briefly(given: JsonValue, shown: str) -> None:
    schema: Json = {"type": "integer"}
    assert mismatches(given, schema) == [of_type("a whole number", shown)]


@pytest.mark.parametrize(
    ("kind", "wanted"),
    [
        ("string", "a text"),
        (["number", "null"], "a number or null"),
        (["array", "unheard-of"], "a list"),
    ],
)
def test_a_value_of_none_of_the_types_is_a_mismatch_of_type(kind: JsonValue, wanted: str) -> None:
    assert mismatches({"a": 1}, {"type": kind}) == [of_type(wanted, "a mapping")]
    assert wanted_by({"type": kind}) == wanted


@pytest.mark.parametrize("given", [1.5, None])
def test_one_fitting_type_of_several_is_enough(given: JsonValue) -> None:
    assert mismatches(given, {"type": ["number", "null"]}) == []


@pytest.mark.parametrize("kind", [None, "unheard-of", []])
def test_a_type_that_no_schema_has_accepts_everything(kind: JsonValue) -> None:
    assert mismatches({"a": 1}, {"type": kind}) == []
    assert wanted_by({"type": kind}) == ""


def test_a_text_instead_of_a_list_is_fixed_by_brackets() -> None:
    fix = "write a list: `['a']`"
    assert mismatches("a", {"type": "array"}) == [of_type("a list", "'a'")._replace(fix=fix)]
    assert mismatches(1, {"type": "array"}) == [of_type("a list", "1")]
    assert mismatches("a", {"type": ["array", "object"]}) == [of_type("a list or a mapping", "'a'")]


@pytest.mark.parametrize(
    ("schema", "given", "expected"),
    [
        ({"minimum": 2}, 2, []),
        ({"minimum": 2}, 1, [wrong("at least 2", "1")]),
        ({"minimum": 2}, 1.5, [wrong("at least 2", "1.5")]),
        ({"maximum": 2.5}, 2.5, []),
        ({"maximum": 2.5}, 3, [wrong("at most 2.5", "3")]),
        ({"minimum": "2", "maximum": "0"}, 1, []),
        ({"minimum": 2, "maximum": -1}, True, []),
        ({"minLength": 1}, "a", []),
        ({"minLength": 1}, "", [wrong("at least 1 character", "''")]),
        ({"minLength": 2}, "a", [wrong("at least 2 characters", "'a'")]),
        ({"minLength": "2"}, "a", []),
        ({"pattern": "b+$"}, "abb", []),
        ({"pattern": "^b"}, "ab", [wrong("a text like ^b", "'ab'")]),
        ({"pattern": "("}, "a", []),
        ({"pattern": 1}, "a", []),
        ({"minLength": 2, "pattern": "^b", "minimum": 1}, 5, []),
    ],
)
def test_a_limit_is_reported_beyond_it_alone(
    schema: Json, given: JsonValue, expected: list[ContractMismatch]
) -> None:
    assert mismatches(given, schema) == expected


def test_a_word_that_is_no_value_of_an_enum_is_reported_with_the_nearest() -> None:
    schema: Json = {"enum": ["create", "modify", 3]}
    expected = ContractMismatch(
        (),
        "one of create, modify, 3 for its input, not 'creat'",
        "create, modify, 3",
        "did you mean 'create'?",
    )
    assert mismatches("creat", schema) == [expected]
    other = expected._replace(message="one of create, modify, 3 for its input, not 4", fix="")
    assert mismatches(4, schema) == [other]
    assert mismatches("Modify", schema) == []
    assert wanted_by(schema) == "create, modify, 3"


@pytest.mark.parametrize("schema", [True, None, "object", {}, {"enum": "a"}, {"$ref": "#/no"}])
def test_a_schema_without_simple_words_accepts_everything(schema: JsonValue) -> None:
    assert wanted_by(schema) == ""
    assert mismatches({"a": 1}, {"properties": {"a": schema}}) == []


def test_the_value_of_a_secret_is_never_shown() -> None:
    schema: Json = {"properties": {"password": {"type": "integer"}, "user": {"type": "integer"}}}
    assert mismatches({"password": "hunter2", "user": "me"}, schema) == [
        of_type("a whole number", HIDDEN, "password"),
        of_type("a whole number", "'me'", "user"),
    ]


CLOSED: Json = {
    "type": "object",
    "properties": {
        "path": {"type": "string", "x-also": ["file"]},
        "size": {"$ref": "#/$defs/Size"},
        "other": {"type": "object", "properties": {}, "additionalProperties": False},
    },
    "required": ["path", "size", "unwritten"],
    "additionalProperties": False,
    "$defs": {"Size": {"type": "integer"}},
}


def test_each_key_of_a_mapping_is_checked_and_each_missing_one_named() -> None:
    given: JsonValue = {"file": 1, "pth": "a", "zzz": 2, "other": {"x": 1}}
    assert mismatches(given, CLOSED) == [
        of_type("a text", "1", "file"),
        ContractMismatch(("other", "x"), "no input 'x'", "none", unknown=True),
        ContractMismatch(("pth",), "no input 'pth'", "other, path, size", unknown=True),
        ContractMismatch(("zzz",), "no input 'zzz'", "other, path, size", unknown=True),
        ContractMismatch(
            ("size",),
            "the input 'size', which is missing",
            "a whole number",
            "add `size:`",
            missing=True,
        ),
        ContractMismatch(
            ("unwritten",),
            "the input 'unwritten', which is missing",
            "",
            "add `unwritten:`",
            missing=True,
        ),
    ]


def test_a_misspelt_key_takes_the_place_of_the_missing_one() -> None:
    schema: Json = {**CLOSED, "required": ["path", "size"]}
    assert mismatches({"pth": "a", "size": "1"}, schema) == [
        ContractMismatch(
            ("pth",), "no input 'pth'", "other, path, size", "did you mean 'path'?", unknown=True
        )
    ]


@pytest.mark.parametrize(
    "schema",
    [
        {**CLOSED, "additionalProperties": True},
        {key: part for key, part in CLOSED.items() if key != "additionalProperties"},
        {"additionalProperties": False},
        {"properties": {}, "required": "a"},
    ],
)
def test_a_further_key_of_an_open_mapping_is_no_mismatch(schema: Json) -> None:
    assert mismatches({"path": "a", "size": 1, "more": 2}, schema, whole=False) == []


def test_what_is_added_later_is_not_missing_though_what_is_wrong_stays_so() -> None:
    assert mismatches({"path": 1}, CLOSED, whole=False) == [of_type("a text", "1", "path")]


def test_each_item_of_a_list_is_checked_at_its_number() -> None:
    schema: Json = {"items": {"type": "integer"}}
    assert mismatches([1, "a", 2, []], schema) == [
        of_type("a whole number", "'a'", 1),
        of_type("a whole number", "a list", 3),
    ]
    assert mismatches(["a"], {"type": "array"}) == []
    assert mismatches("a", schema) == []


def test_every_part_of_all_of_is_checked_and_then_the_schema_itself() -> None:
    schema: Json = {"allOf": [{"minimum": 5}, {"maximum": 1}, {"minimum": 4}], "minimum": 3}
    assert [found.message for found in mismatches(2, schema)] == [
        "at least 5 for its input, not 2",
        "at most 1 for its input, not 2",
        "at least 4 for its input, not 2",
        "at least 3 for its input, not 2",
    ]
    assert mismatches(2, {"allOf": "x"}) == []


@pytest.mark.parametrize("word", ["anyOf", "oneOf"])
def test_of_several_forms_the_one_of_the_right_kind_that_fits_best_is_reported(word: str) -> None:
    schema: Json = {
        word: [
            {"type": "null"},
            {"type": "object", "properties": {"a": {"minimum": 1}, "b": {"minimum": 1}}},
            {"type": "object", "properties": {"a": {"minimum": 9}}},
        ]
    }
    assert mismatches({"a": 0, "b": 0}, schema) == [wrong("at least 9", "0", "a", name="'a'")]
    assert mismatches({"a": 1, "b": 1}, schema) == []
    assert mismatches("x", schema) == [of_type("null or a mapping", "'x'")]
    assert mismatches({"a": "x"}, {word: [{"properties": {"a": {"type": "null"}}}]}) == [
        of_type("null", "'x'", "a")
    ]


NESTED: list[tuple[Callable[[Json], Json], Callable[[JsonValue], JsonValue]]] = [
    (lambda schema: {"items": schema}, lambda given: [given]),
    (lambda schema: {"properties": {"a": schema}}, lambda given: {"a": given}),
    (lambda schema: {"allOf": [schema]}, lambda given: given),
    (lambda schema: {"anyOf": [schema]}, lambda given: given),
]


@pytest.mark.parametrize(("around_schema", "around_value"), NESTED)
def test_a_schema_is_followed_thirty_levels_deep(
    around_schema: Callable[[Json], Json], around_value: Callable[[JsonValue], JsonValue]
) -> None:
    schema: Json = {"type": "null"}
    given: JsonValue = 1
    for _ in range(30):
        schema, given = around_schema(schema), around_value(given)
    assert mismatches(given, schema) != []
    assert mismatches(around_value(given), around_schema(schema)) == []


@pytest.mark.parametrize("word", ["allOf", "anyOf", "oneOf"])
def test_a_schema_that_only_refers_to_itself_accepts_everything(word: str) -> None:
    assert mismatches(1, {word: [{"$ref": "#"}]}) == []
