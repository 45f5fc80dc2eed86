"""Ids, names, arguments and texts of one model that another API takes."""

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coterie.activities.providers.message_model import (
    ImagePart,
    ModelMessage,
    ToolResultPart,
)
from coterie.activities.providers.provider import ModelRequest
from coterie.activities.providers.translation.wire_values import (
    arguments_object,
    arguments_text,
    cache_key,
    data_url,
    plain,
    result_text,
    short_id,
    strict_id,
    tool_name,
)
from coterie.dsl.tool_loop.exchange import OfferedTool


@given(st.text(), st.text())
def test_an_id_fits_every_api_and_stays_unique(first: str, second: str) -> None:
    for make, form in ((strict_id, r"[A-Za-z0-9_-]{1,40}"), (short_id, r"(?s).{1,40}")):
        assert re.fullmatch(form, make(first))
        assert make(first) == make(first)
        assert (make(first) == make(second)) is (first == second)


@pytest.mark.parametrize("own", ["toolu_01A09q90qw90lq917835lq9", "call_1", "a1B2c3D4e"])
def test_an_id_that_fits_stays_as_its_server_sent_it(own: str) -> None:
    assert (strict_id(own), short_id(own)) == (own, own)


def test_compatible_servers_get_their_own_form_of_ids_back() -> None:
    assert short_id("functions.Bash:0") == "functions.Bash:0"
    assert strict_id("functions.Bash:0").startswith("call_")


@given(st.text())
def test_a_name_that_a_model_invented_fits_every_api(name: str) -> None:
    assert re.fullmatch(r"[A-Za-z0-9_-]{1,64}", tool_name(name))


@pytest.mark.parametrize(
    ("written", "sent"),
    [
        ('{"a": 1}', {"a": 1}),
        ("{}", {}),
        ("null", {}),
        ('{"a": "\\ud800"}', {"invalid_json": '{"a": "\\ud800"}'}),
        ('{"a": 1, "a": 2}', {"invalid_json": '{"a": 1, "a": 2}'}),
        ("[1]", {"invalid_json": "[1]"}),
        ('{"a": ', {"invalid_json": '{"a": '}),
        ('{"a": NaN}', {"invalid_json": '{"a": NaN}'}),
        ('{"a": 1e400}', {"invalid_json": '{"a": 1e400}'}),
        ("[" * 100_000, {"invalid_json": "[" * 100_000}),
    ],
)
def test_arguments_become_an_object_that_shows_what_the_model_wrote(
    written: str, sent: object
) -> None:
    assert arguments_object(written) == sent
    text = arguments_text(written)
    assert text == written or json.loads(text) == sent
    text.encode()


def test_arguments_that_are_an_object_stay_as_they_were_written() -> None:
    written = '{ "b":1,"a" : [ 2.0 ], "c": "\\u00fc" }'
    assert arguments_text(written) == written


@given(st.text(st.characters()))
def test_a_text_can_always_be_sent(text: str) -> None:
    plain(text + "\ud800").encode()
    assert plain(text.encode(errors="replace").decode()) == text.encode(errors="replace").decode()


def test_an_error_says_so_where_the_api_has_no_flag() -> None:
    assert result_text(ToolResultPart("a", "no such file", is_error=True)) == "ERROR: no such file"
    assert result_text(ToolResultPart("a", "21")) == "21"


def test_an_image_travels_in_its_url() -> None:
    assert data_url(ImagePart("image/png", b"\x89PNG")) == "data:image/png;base64,iVBORw=="


def test_all_requests_of_a_conversation_share_one_cache_key() -> None:
    first = ModelMessage.of("user", "Go.")
    tool = OfferedTool(name="add", description="", input_schema={"type": "object"})
    begun = ModelRequest(model="m", messages=(first,), system="S", tools=(tool,))
    later = ModelRequest(
        model="m",
        messages=(first, ModelMessage.of("assistant", "Well."), ModelMessage.of("user", "On.")),
        system="S",
        tools=(tool,),
    )
    other = ModelRequest(model="m", messages=(first,), system="T", tools=(tool,))
    assert cache_key(begun) == cache_key(later) != cache_key(other)
    assert len(cache_key(begun)) == 32
