"""A file gives the context of a start, whatever its size; nothing that a person typed is lost."""

from coterie.dsl.values import Json
from coterie.gateway.console.fields.form_fields import Typed
from coterie.gateway.console.forms.sent_forms import SentFile
from coterie.gateway.console.forms.start_posts import filled_form
from tests.unit.gateway.console.test_schema_forms import names_of, shown_texts

SCHEMA: Json = {"type": "object", "properties": {"changes": {"type": "string"}}}
WHOLE: Json = {f"k{number}": number for number in range(500)}
FILE = SentFile("", "a.yml", "".join(f"{key}: {value}\n" for key, value in WHOLE.items()))


def test_a_large_file_becomes_one_field_and_the_context() -> None:
    filled, notice = filled_form(SCHEMA, Typed({"changes": ""}), [FILE])
    assert (notice, filled.value, names_of(filled.fields)) == ("", WHOLE, {"": "json"})
    again, _ = filled_form(SCHEMA, Typed(shown_texts(filled.fields)), [])
    assert again.value == WHOLE


def test_what_was_typed_beside_a_large_file_is_not_left_out_in_silence() -> None:
    _, notice = filled_form(SCHEMA, Typed({"changes": "mine"}), [FILE])
    assert notice == "The file has too many keys for a form: put all of them into it."


def test_a_small_file_fills_the_fields_beside_what_was_typed() -> None:
    small = SentFile("", "a.yml", "changes: theirs\nmore: 1\n")
    filled, notice = filled_form(SCHEMA, Typed({"changes": "mine"}), [small])
    assert (notice, filled.value) == ("", {"changes": "mine", "more": 1})
