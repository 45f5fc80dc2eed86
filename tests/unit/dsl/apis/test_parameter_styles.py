"""Each style of a parameter, as OpenAPI's own table shows it."""

import pytest

from coterie.dsl.apis.parameter_styles import header_text, path_part, query_pairs
from coterie.dsl.model.api_requests import ApiParameter, ParameterPlace, ParameterStyle
from coterie.dsl.values import JsonValue

COLOURS: JsonValue = ["blue", "black", "brown"]
RGB: JsonValue = {"R": 100, "G": 200, "B": 150}


def parameter(place: ParameterPlace, style: ParameterStyle, explode: bool) -> ApiParameter:
    return ApiParameter(name="color", place=place, argument="color", style=style, explode=explode)


@pytest.mark.parametrize(
    ("style", "explode", "value", "text"),
    [
        ("simple", False, "blue", "blue"),
        ("simple", False, COLOURS, "blue,black,brown"),
        ("simple", False, RGB, "R,100,G,200,B,150"),
        ("simple", True, RGB, "R=100,G=200,B=150"),
        ("label", False, "blue", ".blue"),
        ("label", False, COLOURS, ".blue,black,brown"),
        ("label", True, COLOURS, ".blue.black.brown"),
        ("label", True, RGB, ".R=100.G=200.B=150"),
        ("matrix", False, "blue", ";color=blue"),
        ("matrix", False, COLOURS, ";color=blue,black,brown"),
        ("matrix", True, COLOURS, ";color=blue;color=black;color=brown"),
        ("matrix", False, RGB, ";color=R,100,G,200,B,150"),
        ("matrix", True, RGB, ";R=100;G=200;B=150"),
        ("json", False, {"a": [1]}, "%7B%22a%22%3A%5B1%5D%7D"),
        ("simple", False, "a/b?c#d%e;f", "a%2Fb%3Fc%23d%25e%3Bf"),
        ("simple", False, "ä €", "%C3%A4%20%E2%82%AC"),
        ("simple", False, True, "true"),
        ("simple", False, 2.0, "2"),
    ],
)
def test_a_value_stands_in_a_path_as_its_style_says(
    style: ParameterStyle, explode: bool, value: JsonValue, text: str
) -> None:
    assert path_part(parameter("path", style, explode), value) == text


@pytest.mark.parametrize(
    ("style", "explode", "value", "text"),
    [
        ("form", True, "blue", "color=blue"),
        ("form", True, "", "color="),
        ("form", True, COLOURS, "color=blue&color=black&color=brown"),
        ("form", False, COLOURS, "color=blue,black,brown"),
        ("form", True, RGB, "R=100&G=200&B=150"),
        ("form", False, RGB, "color=R,100,G,200,B,150"),
        ("spaceDelimited", False, COLOURS, "color=blue%20black%20brown"),
        ("pipeDelimited", False, COLOURS, "color=blue%7Cblack%7Cbrown"),
        ("spaceDelimited", False, RGB, "color=R%20100%20G%20200%20B%20150"),
        ("deepObject", True, RGB, "color%5BR%5D=100&color%5BG%5D=200&color%5BB%5D=150"),
        ("deepObject", True, {"a": {"b": [1, 2]}}, "color%5Ba%5D%5Bb%5D%5B0%5D=1"
            "&color%5Ba%5D%5Bb%5D%5B1%5D=2"),
        ("json", False, {"a": 1}, "color=%7B%22a%22%3A1%7D"),
        ("form", False, [], ""),
        ("form", True, "a&b=c+d e", "color=a%26b%3Dc%2Bd%20e"),
    ],
)  # fmt: skip
def test_a_value_stands_in_a_query_as_its_style_says(
    style: ParameterStyle, explode: bool, value: JsonValue, text: str
) -> None:
    pairs = query_pairs(parameter("query", style, explode), value)
    assert "&".join("=".join(pair) for pair in pairs) == text


def test_reserved_characters_stay_where_the_document_allows_it_but_not_those_that_divide() -> None:
    reserved = parameter("query", "form", True).model_copy(update={"reserved": True})
    assert [*query_pairs(reserved, "a/b:c?d&e=f#g")] == [("color", "a/b:c?d%26e%3Df%23g")]


@pytest.mark.parametrize(
    ("explode", "value", "text"),
    [
        (False, "blue", "blue"),
        (False, COLOURS, "blue,black,brown"),
        (False, RGB, "R,100,G,200,B,150"),
        (True, RGB, "R=100,G=200,B=150"),
        (False, 5, "5"),
    ],
)
def test_a_value_stands_in_a_header_as_its_style_says(
    explode: bool, value: JsonValue, text: str
) -> None:
    assert header_text(parameter("header", "simple", explode), value) == text
