"""What mdurl promises of texts in addresses."""

import pytest
from mdurl import decode, encode, format, parse


def test_a_space_is_escaped():
    assert encode("/a b") == "/a%20b"


def test_a_letter_outside_ascii_is_escaped_as_utf8():
    assert encode("/é") == "/%C3%A9"


def test_an_escape_within_the_text_stays():
    assert encode("/a%20b c") == "/a%20b%20c"


def test_an_escape_at_the_end_of_the_text_stays():
    assert encode("/a%20") == "/a%20"


@pytest.mark.parametrize("text", ["100%", "%zz"])
def test_a_percent_sign_that_begins_no_escape_is_escaped(text):
    assert encode(text) == text.replace("%", "%25")


def test_half_a_surrogate_pair_becomes_the_replacement_character():
    assert encode("\ud800") == "%EF%BF%BD"


def test_what_was_encoded_is_decoded():
    assert decode(encode("/é b?c=d")) == "/é b?c=d"


def test_an_address_is_taken_apart_and_put_together():
    parsed = parse("https://example.org:8080/a/b?c=d#e")
    assert (parsed.hostname, parsed.port, parsed.pathname) == ("example.org", "8080", "/a/b")
    assert format(parsed) == "https://example.org:8080/a/b?c=d#e"
