"""Build the HTTP request of a call: every argument in its place, encoded for that place. Pure.

No argument reaches another host, another path or another header than its operation names.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple
from urllib.parse import unquote

from coterie.dsl.apis.parameter_styles import (
    Pair,
    header_text,
    path_part,
    plain_text,
    query_pairs,
)
from coterie.dsl.apis.placeholders import fill_placeholders
from coterie.dsl.model.api_requests import (
    ApiBody,
    ApiParameter,
    ApiRequest,
    ParameterPlace,
)
from coterie.dsl.model.sections.api_document import ApiSection, ApiTerms
from coterie.dsl.safety.blocked_places import blocked_path
from coterie.dsl.values import Json, JsonValue

_IN_PATH = re.compile(r"\{([^{}]*)\}")
_DOTS = (".", "..")
_HEADER_TEXT = re.compile(r"[\t\x20-\x7e]*")


_NO_TERMS = ApiTerms()


class RequestRefused(Exception):
    """An argument cannot stand where its operation has it."""


class BuiltRequest(NamedTuple):
    """A request without what the worker adds as proof."""

    method: str
    url: str
    headers: dict[str, str]
    content: bytes | None


def build_request(
    section: ApiSection, request: ApiRequest, arguments: Json, terms: ApiTerms = _NO_TERMS
) -> BuiltRequest:
    """Return the request of a call.

    Args:
        section: The API, whose own parameters no call gives.
        request: How the operation is called.
        arguments: Checked against its schema.
        terms: Of the operation.

    Raises:
        RequestRefused: An argument cannot stand in its place.
    """
    given = [*_given_parameters(section, request, arguments, terms)]
    path = _path(request.path, {one.parameter.name: one for one in given if one.place == "path"})
    query = "&".join(f"{name}={value}" for name, value in _pairs(given, "query", section.query))
    url = f"{section.server.rstrip('/')}{path}" + (f"?{query}" if query else "")
    headers = {
        one.parameter.name: _header(one.parameter, one.value)
        for one in given
        if one.place == "header"
    }
    cookies = "; ".join(
        f"{name}={value}" for name, value in _pairs(given, "cookie", section.cookies)
    )
    if cookies:
        headers["Cookie"] = cookies
    content = None if request.body is None else _content(request.body, arguments)
    if content is not None and request.body is not None:
        headers = with_header(headers, "Content-Type", request.body.type)
    return BuiltRequest(request.method, url, headers, content)


def with_header(headers: Mapping[str, str], name: str, value: str) -> dict[str, str]:
    """Return headers with another one, which takes the place of its name in any letter case."""
    others = {key: text for key, text in headers.items() if key.lower() != name.lower()}
    return {**others, name: value}


class _Given(NamedTuple):
    """A parameter with its value."""

    parameter: ApiParameter
    value: JsonValue

    @property
    def place(self) -> ParameterPlace:
        return self.parameter.place


def _given_parameters(
    section: ApiSection, request: ApiRequest, arguments: Json, terms: ApiTerms
) -> Iterator[_Given]:
    """Yield the parameters that have a value; null is none."""
    for parameter in request.parameters:
        own = parameter.argument
        value = arguments.get(own) if own else parameter.value
        if value is not None and not section.gives(parameter, terms):
            yield _Given(parameter, value)


def _pairs(
    given: Sequence[_Given], place: ParameterPlace, reserved: Iterable[str]
) -> Iterator[Pair]:
    """Yield the pairs of a place; no key of an object is a name that is given without it."""
    here = [one for one in given if one.place == place]
    constant = (one.parameter.name for one in here if not one.parameter.argument)
    taken = {name.casefold() for name in (*reserved, *constant)}
    for one in here:
        own, argument = one.parameter.name, one.parameter.argument
        for name, value in query_pairs(one.parameter, one.value):
            key = unquote(name)
            if argument and key != own and key.strip().casefold() in taken:
                raise RequestRefused(f"{argument!r} has the key {key!r}, which no call gives")
            yield name, value


def _path(template: str, given: Mapping[str, _Given]) -> str:
    """Return the path with a part for each name; no value leads elsewhere."""

    def part(found: re.Match[str]) -> str:
        name = found[1]
        one = given.get(name)
        text = "" if one is None else path_part(one.parameter, one.value)
        if one is None or not text or not plain_text(one.value):
            raise RequestRefused(f"{name!r} stands in the path, so it must not be empty")
        if blocked_path(unquote(text)) is not None or unquote(text) in _DOTS:
            raise RequestRefused(f"{name!r} would lead to another path")
        return text

    path = _IN_PATH.sub(part, template)
    if any(unquote(segment) in _DOTS for segment in path.split("/")):
        raise RequestRefused("its arguments would lead to another path")
    return path


def _header(parameter: ApiParameter, value: JsonValue) -> str:
    text = header_text(parameter, value).strip(" \t")
    if not stands_in_header(text):
        raise RequestRefused(
            f"{parameter.argument!r} stands in a header, which takes printable ASCII characters"
        )
    return text


def stands_in_header(text: str) -> bool:
    """Return whether a text may be the value of a header."""
    return _HEADER_TEXT.fullmatch(text) is not None


def _content(body: ApiBody, arguments: Json) -> bytes | None:
    """Return the body; None without its argument, which is then optional."""
    if body.argument:
        if body.argument not in arguments:
            return None
        value = arguments[body.argument]
    else:
        value = fill_placeholders(body.template, arguments)
    match body.form:
        case "json":
            return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
        case "form":
            return "&".join(f"{name}={text}" for name, text in _fields(body, value)).encode()
        case "text":
            return plain_text(value).encode()


def _fields(body: ApiBody, value: JsonValue) -> Iterator[Pair]:
    """Yield the pairs of a form: a list repeats its field; an object is JSON, or by its style."""
    for name, item in (value if isinstance(value, dict) else {}).items():
        style = body.styles.get(name, "json" if isinstance(item, dict) else "form")
        field = ApiParameter(name=name, place="query", argument=name, style=style, explode=True)
        yield from query_pairs(field, item)
