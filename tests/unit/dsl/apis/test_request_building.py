"""Every argument stands in its place, and none leads elsewhere."""

import json
from urllib.parse import urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from coterie.dsl.apis.declared_calls import declared_call
from coterie.dsl.apis.request_building import BuiltRequest, RequestRefused, build_request
from coterie.dsl.model.api_requests import ApiBody, ApiParameter, ApiRequest
from coterie.dsl.model.sections.api_document import ApiSection, ApiTerms
from coterie.dsl.values import Json, JsonValue

SERVER = "https://api.example/v1"
API = ApiSection.model_validate({"server": f"{SERVER}/", "calls": {"any": {"path": "/any"}}})


def parameter(name: str, place: str, **more: object) -> ApiParameter:
    return ApiParameter.model_validate({"name": name, "place": place, "argument": name, **more})


def built(call: dict[str, object], arguments: Json) -> BuiltRequest:
    section = ApiSection.model_validate({"server": SERVER, "calls": {"call": call}})
    request = declared_call("call", section.calls["call"]).request
    assert request is not None
    return build_request(section, request, arguments)


PETS = ApiRequest(
    method="GET",
    path="/pets/{id}/toys/{toy}",
    parameters=(
        parameter("id", "path"),
        parameter("toy", "path", style="matrix"),
        parameter("limit", "query", style="form", explode=True),
        parameter("X-Trace", "header"),
        parameter("session", "cookie", style="form", explode=True),
    ),
)


def test_each_argument_stands_in_its_place_and_an_absent_one_nowhere() -> None:
    arguments: Json = {"id": 7, "toy": "ball", "limit": None, "X-Trace": "on", "session": "a;b"}
    assert build_request(API, PETS, arguments) == BuiltRequest(
        "GET",
        f"{SERVER}/pets/7/toys/;toy=ball",
        {"X-Trace": "on", "Cookie": "session=a%3Bb"},
        None,
    )
    assert build_request(API, PETS, {"id": 7, "toy": "b", "limit": 5}).url.endswith("b?limit=5")


@pytest.mark.parametrize(
    "value", ["..", ".", "", "../admin", "a/../../b", "..\\b", "%2e%2e/b", "a\0b", None, []]
)
def test_no_value_of_a_path_leads_to_another_path(value: JsonValue) -> None:
    with pytest.raises(RequestRefused, match="'id'"):
        build_request(API, PETS, {"id": value, "toy": "ball"})


@pytest.mark.parametrize("value", ["a\r\nHost: evil.example", "ä", "\x7f"])
def test_no_value_of_a_header_begins_another_one(value: str) -> None:
    with pytest.raises(RequestRefused, match="'X-Trace'"):
        build_request(API, PETS, {"id": 1, "toy": "ball", "X-Trace": value})


TEXTS = st.text(max_size=30)


@given(TEXTS, TEXTS, TEXTS)
def test_whatever_the_arguments_are_the_host_the_path_and_the_query_stay(
    id: str, toy: str, limit: str
) -> None:
    arguments: Json = {"id": id, "toy": toy, "limit": limit}
    try:
        url = build_request(API, PETS, arguments).url
    except RequestRefused:
        return
    parts = urlsplit(url)
    assert (parts.scheme, parts.netloc, parts.fragment) == ("https", "api.example", "")
    assert [len(parts.path.split("/")), parts.path.split("/")[:3]] == [6, ["", "v1", "pets"]]
    assert parts.query.count("&") == 0
    assert parts.query.startswith("limit=")


def test_a_declared_call_fills_its_path_query_headers_and_body() -> None:
    call: dict[str, object] = {
        "method": "POST",
        "path": "/cities/{city}/orders",
        "query": {"unit": "kg", "page": "{page}", "flags": [1, 2]},
        "headers": {"X-Kind": "{kind}", "X-Fixed": "yes"},
        "body": {"items": ["{item}", "{more}"], "note": "{note}", "kind": 1},
        "input_schema": {
            "type": "object",
            "properties": {"city": {}, "page": {}, "kind": {}, "item": {}, "more": {}, "note": {}},
        },
    }
    request = built(call, {"city": "São Paulo/1", "page": 2, "kind": "a", "item": {"id": 1}})
    assert request.url == (
        f"{SERVER}/cities/S%C3%A3o%20Paulo%2F1/orders?unit=kg&page=2&flags=1&flags=2"
    )
    assert request.headers == {
        "X-Kind": "a",
        "X-Fixed": "yes",
        "Content-Type": "application/json",
    }
    assert json.loads(request.content or b"") == {"items": [{"id": 1}], "kind": 1}


def test_arguments_of_a_declared_call_are_required_texts_unless_it_says_otherwise() -> None:
    section = ApiSection.model_validate(
        {
            "server": SERVER,
            "calls": {
                "at": {
                    "path": "/at/{place}/{day}",
                    "query": {"n": "{n}"},
                    "input_schema": {"n": {"type": "integer"}},
                }
            },
        }
    )
    assert declared_call("at", section.calls["at"]).input_schema == {
        "type": "object",
        "properties": {
            "place": {"type": "string"},
            "day": {"type": "string"},
            "n": {"type": "integer"},
        },
        "required": ["place", "day", "n"],
        "additionalProperties": False,
    }


@pytest.mark.parametrize(
    ("body", "value", "content"),
    [
        (ApiBody(argument="body"), {"a": [1, None, "ä"]}, '{"a":[1,null,"ä"]}'),
        (ApiBody(argument="body"), None, "null"),
        (ApiBody(argument="body", form="text", type="text/plain"), "hello", "hello"),
        (
            ApiBody(argument="body", form="form", styles={"deep": "deepObject"}),
            {"a": "x y", "tags": ["b", "c"], "deep": {"k": 1}, "object": {"k": 1}},
            "a=x%20y&tags=b&tags=c&deep%5Bk%5D=1&object=%7B%22k%22%3A1%7D",
        ),
    ],
)
def test_a_body_has_the_form_of_its_type(body: ApiBody, value: JsonValue, content: str) -> None:
    request = ApiRequest(method="POST", path="/a", body=body)
    made = build_request(API, request, {"body": value})
    assert (made.content or b"").decode() == content
    assert made.headers["Content-Type"] == body.type
    assert build_request(API, request, {}).content is None


def test_what_the_worker_gives_no_caller_gives() -> None:
    section = ApiSection.model_validate(
        {
            "server": SERVER,
            "calls": {"any": {"path": "/any"}},
            "headers": {"x-trace": "TRACE"},
            "cookies": {"session": "SESSION"},
            "query": {"limit": "LIMIT"},
        }
    )
    request = build_request(
        section, PETS, {"id": 1, "toy": "b", "limit": 9, "X-Trace": "mine", "session": "mine"}
    )
    assert (request.url, request.headers) == (f"{SERVER}/pets/1/toys/;toy=b", {})


@pytest.mark.parametrize("name", ["Host", "COOKIE", "Transfer-Encoding", "content-length", "TE"])
def test_no_parameter_is_a_header_of_the_connection(name: str) -> None:
    operation = ApiRequest(method="GET", path="/a", parameters=(parameter(name, "header"),))
    assert build_request(API, operation, {name: "mine"}).headers == {}


@pytest.mark.parametrize("name", ["Host", "cookie", "Transfer-Encoding", "Connection"])
def test_no_declared_header_is_one_of_the_connection(name: str) -> None:
    call = {"path": "/any"}
    for section in (
        {"calls": {"any": {**call, "headers": {name: "{mine}"}}}},
        {"calls": {"any": call}, "headers": {name: "SECRET"}},
    ):
        with pytest.raises(ValidationError, match=f"remove `{name}`"):
            ApiSection.model_validate({"server": SERVER, **section})


KEYED: dict[str, object] = {
    "server": SERVER,
    "calls": {"any": {"path": "/any"}},
    "query": {"api_key": "KEY"},
    "cookies": {"sid": "KEY"},
}


@pytest.mark.parametrize("key", ["api_key", "API_KEY", " sid", "fixed"])
@pytest.mark.parametrize("place", ["query", "cookie"])
def test_no_key_of_an_object_is_a_name_that_is_given_without_it(place: str, key: str) -> None:
    section = ApiSection.model_validate(
        {**KEYED, place if place == "query" else "cookies": {"api_key": "KEY", "sid": "KEY"}}
    )
    constant = ApiParameter.model_validate({"name": "fixed", "place": place, "value": 1})
    filter = parameter("filter", place, style="form", explode=True)
    operation = ApiRequest(method="GET", path="/a", parameters=(constant, filter))
    build_request(section, operation, {"filter": {"color": "red", "filter": 1}})
    with pytest.raises(RequestRefused, match=f"'filter' has the key '{key}'"):
        build_request(section, operation, {"filter": {"color": "red", key: "mine"}})


def test_the_header_of_the_key_is_no_argument_in_any_letter_case() -> None:
    operation = ApiRequest(
        method="POST", path="/a", parameters=(parameter("idempotency-key", "header"),)
    )
    terms = ApiTerms(key_header="Idempotency-Key")
    assert build_request(API, operation, {"idempotency-key": "mine"}, terms).headers == {}


def test_a_body_has_one_content_type() -> None:
    call: dict[str, object] = {"path": "/a", "method": "POST", "body": {"a": 1}}
    made = built({**call, "headers": {"content-type": "text/plain"}}, {})
    assert made.headers == {"Content-Type": "application/json"}
