"""A secret whose value is known is masked: whole, in part, and in base64."""

import base64

import pytest

from coterie.dsl.known_secrets import KnownSecrets, secrets_of

VALUE = "hunter2-Xk29vQzL"
SHORT = "pa55word"
ADDRESS = "https://me:pa55-word@example.org/hidden-path/?key=hidden-query"


@pytest.fixture
def known() -> KnownSecrets:
    return KnownSecrets([f" {VALUE}\n", SHORT, "seven77"])


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("no secret", "no secret"),
        (VALUE, "***"),
        (f"a {VALUE} b {SHORT} c", "a *** b *** c"),
        (f"a{VALUE}{SHORT}b", "a***b"),
        (f"{SHORT}{SHORT}", "***"),
        (VALUE[:12], "***"),
        (f"x{VALUE[2:14]}y", "x***y"),
        (f"x{VALUE[4:]}y", "x***y"),
        (VALUE[:11], VALUE[:11]),
        (SHORT[:7], SHORT[:7]),
        (f"a {SHORT}", "a ***"),
        ("seven77", "seven77"),
        ("sk-ant-no-real-key-of-anyone-0000", "***"),
    ],
)
def test_a_value_is_masked_from_twelve_characters_of_it_or_whole(
    known: KnownSecrets, text: str, shown: str
) -> None:
    assert known.without(text) == shown


@pytest.mark.parametrize("before", ["", "a", "ab", "abc"])
@pytest.mark.parametrize("value", ["hunter2-Xk29vQzLabc", "~1?2>3~?4>5?>6~7>8~"])
def test_the_base64_of_a_value_is_masked_at_every_offset(before: str, value: str) -> None:
    known = KnownSecrets([value])
    for encode in (base64.b64encode, base64.urlsafe_b64encode):
        encoded = encode(f"{before}{value}".encode()).decode()
        begin = len(before) // 3 * 4 + (0, 2, 3)[len(before) % 3]
        end = len(before + value) // 3 * 4
        assert known.without(encoded) == f"{encoded[:begin]}***{encoded[end:]}"


def test_of_an_address_the_password_the_path_and_the_query_are_masked() -> None:
    known = KnownSecrets([ADDRESS])
    assert known.without("pa55-word hidden-path key=hidden-query") == "*** *** ***"
    assert known.without("https://example.org/") == "https://example.org/"
    assert KnownSecrets(["http://[broken-secret"]).without("a http://[broken-secret") == "a ***"


@pytest.mark.parametrize(
    ("text", "waiting"),
    [
        ("", 0),
        ("hun", 0),
        ("hunt", 4),
        ("a hunter2", 7),
        ("hunter2!", 0),
        ("k29v", 4),
        ("see vQzL", 4),
        (VALUE, 11),
        (VALUE[:11], 11),
        (VALUE[:12], 11),
    ],
)
def test_the_end_of_a_text_that_may_become_a_value_waits(
    known: KnownSecrets, text: str, waiting: int
) -> None:
    assert known.unfinished(text) == waiting


def test_values_are_masked_in_every_text_and_name_of_json(known: KnownSecrets) -> None:
    assert known.without_in({VALUE: [SHORT, 1, None, {"a": f"x {VALUE}"}]}) == {
        "***": ["***", 1, None, {"a": "x ***"}]
    }


def test_the_secrets_of_an_environment_are_the_values_of_names_like_secrets() -> None:
    environment = {"OPENAI_API_KEY": "a", "HOME": "b", "DB_PASSWORD": "c", "MAX_TOKENS": "d"}
    assert secrets_of(environment) == ("a", "c")
