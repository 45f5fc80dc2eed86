"""What people write as text becomes the same value by every way in."""

import io
from collections.abc import Callable
from pathlib import Path

import pytest

from coterie.argument_values import read_context, read_updates, split_settings
from coterie.display.asked_inputs import ask_inputs
from coterie.dsl.errors import InvalidDocument
from coterie.dsl.model.context.declarations import Declarations, DeclaredPath
from coterie.dsl.values import Json, JsonValue
from coterie.failures import CommandError
from coterie.settings import load

UNDECLARED: list[tuple[str, JsonValue, str]] = [
    ("", "", ""),
    ("rain in may", "rain in may", ""),
    ("12:30", "12:30", ""),
    ("yes", "yes", ""),
    ("[draft] hello", "[draft] hello", ""),
    (" 5", " 5", ""),
    ("5", 5, ""),
    ("-0.5", -0.5, ""),
    ("true", True, ""),
    ("null", None, ""),
    ('"1.10"', "1.10", ""),
    ('{"a": [1]}', {"a": [1]}, ""),
    (" [1, 2] ", [1, 2], ""),
    ("123456789012345678901234567890", 123456789012345678901234567890, ""),
    ("1.10", "1.10", "YAML would read 1.1; for that value, write 1.1"),
    ("123e4", "123e4", "YAML would read 1230000.0; for that value, write 1230000.0"),
    ("00123", "00123", "YAML would read 123; for that value, write 123"),
    ("0x1F", "0x1F", "YAML would read 31; for that value, write 31"),
    ("+5", "+5", "YAML would read 5; for that value, write 5"),
    ("True", "True", "YAML would read true; for that value, write true"),
    ("~", "~", "YAML would read null; for that value, write null"),
    ("4e1234", "4e1234", "it is too large for a number"),
    (".inf", ".inf", "JSON has no such number"),
    ("NaN", "NaN", ""),
    ("9" * 400, "9" * 400, "it is too large for a number"),
    ("[1, 2,]", "[1, 2,]", "it is not JSON ("),
]


def _by_set(text: str, declared: Declarations) -> Json:
    return read_context(load({}, Path()), None, [f"x={text}"], declared)


def _by_update(text: str, declared: Declarations) -> Json:
    return read_updates(split_settings([f"x={text}"]), declared)


@pytest.mark.parametrize(("text", "value", "said"), UNDECLARED)
@pytest.mark.parametrize("way", [_by_set, _by_update])
def test_a_text_is_what_yaml_reads_unless_that_changes_it(
    way: Callable[[str, Declarations], Json],
    capsys: pytest.CaptureFixture[str],
    text: str,
    value: JsonValue,
    said: str,
) -> None:
    (read,) = way(text, {}).values()
    assert (read, type(read)) == (value, type(value))
    noted = capsys.readouterr().err
    assert (f"x stays the text {text!r}: {said}" in noted) if said else not noted


DECLARED: list[tuple[Json, str, JsonValue]] = [
    ({"type": "string"}, "5", "5"),
    ({"type": "string"}, "null", "null"),
    ({"type": "string"}, "1.10", "1.10"),
    ({"type": "string"}, '"1.10"', "1.10"),
    ({"type": "string"}, '{"a": 1, "a": 2}', '{"a": 1, "a": 2}'),
    ({"type": ["string"]}, "[1]", "[1]"),
    ({"type": "number"}, "1.10", 1.1),
    ({"type": "number"}, "123e4", 1_230_000.0),
    ({"type": "integer"}, "00123", 123),
    ({"type": "boolean"}, "True", True),
    ({"type": ["null", "string"]}, "null", None),
    ({"type": ["number", "string"]}, "1.10", "1.10"),
    ({"enum": ["1", "2"]}, "1", "1"),
    ({"enum": [1.5, 2]}, "1.50", 1.5),
    ({}, "5", 5),
]


def _by_answer(text: str, declared: Declarations) -> Json:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sys.stdin", io.StringIO(f"{text}\n"))
        return ask_inputs(declared, {})


@pytest.mark.parametrize(("schema", "text", "value"), DECLARED)
@pytest.mark.parametrize("way", [_by_set, _by_update, _by_answer])
def test_a_declared_type_decides(
    way: Callable[[str, Declarations], Json],
    capsys: pytest.CaptureFixture[str],
    schema: Json,
    text: str,
    value: JsonValue,
) -> None:
    (read,) = way(text, {"x": DeclaredPath(schema=schema, required=True)}).values()
    assert (read, type(read)) == (value, type(value))
    assert "stays the text" not in capsys.readouterr().err or not schema.get("type")


def test_the_type_of_a_property_decides_below_a_declared_path() -> None:
    order: Json = {"type": "object", "properties": {"sku": {"type": "string"}}}
    declared = {"order": DeclaredPath(schema=order)}
    written = ["order.sku=007", "order.size=7"]
    assert read_context(load({}, Path()), None, written, declared) == {
        "order": {"sku": "007", "size": 7}
    }
    assert read_updates(split_settings(written), declared) == {"order.sku": "007", "order.size": 7}


AMBIGUOUS = {
    '{"a": 1, "a": 2}': "it has the key 'a' twice in one object",
    '{"b": NaN}': "'b' is not a JSON number (NaN or infinite)",
    '["\\ud800"]': "'0' contains half of a surrogate pair, which is not a character",
}


@pytest.mark.parametrize("text", AMBIGUOUS)
@pytest.mark.parametrize("way", [_by_set, _by_update])
def test_json_that_parsers_read_differently_is_refused(
    way: Callable[[str, Declarations], Json], text: str
) -> None:
    with pytest.raises(CommandError) as refused:
        way(text, {})
    assert AMBIGUOUS[text] in str(refused.value)
    with pytest.raises(CommandError) as refused:
        read_context(load({}, Path()), f'{{"x": {text}}}', ())
    assert AMBIGUOUS[text].partition(" ")[2] in str(refused.value)


@pytest.mark.parametrize("written", [".nan", ".NaN", ".inf", "-.INF", "+.inf", "1e400", "-1e999"])
def test_a_context_file_with_such_a_number_is_refused_with_its_path(
    tmp_path: Path, written: str
) -> None:
    (tmp_path / "context.yml").write_text(f"a:\n  b: [1, {written}]\n")
    with pytest.raises(InvalidDocument) as error:
        read_context(load({}, tmp_path), "@context.yml", ())
    (problem,) = error.value.problems
    assert (problem.code, problem.line, problem.column) == ("E005", 2, 10)
    assert problem.message.startswith(f"the context's 'a.b[1]': {written} is ")


def test_a_context_file_may_hold_their_spelling_as_a_text(tmp_path: Path) -> None:
    (tmp_path / "context.yml").write_text("a: ['.nan', \".inf\", .info, nan]\n")
    texts = [".nan", ".inf", ".info", "nan"]
    assert read_context(load({}, tmp_path), "@context.yml", ()) == {"a": texts}
