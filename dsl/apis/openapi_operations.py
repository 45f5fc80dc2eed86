"""The operations of an OpenAPI document as tools of a server; each unusable one is left out alone.

Pure. An operation is at the address that the worker gives, whatever the document says.
"""

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import NamedTuple, cast, get_args
from urllib.parse import urljoin

from coterie.dsl.apis.openapi_reading import ApiDocument, Unreadable
from coterie.dsl.apis.openapi_schemas import SchemaTranslator
from coterie.dsl.json_schema.schema_problems import schema_problem
from coterie.dsl.model.api_requests import (
    CONNECTION_HEADERS,
    METHODS,
    ApiBody,
    ApiParameter,
    ApiRequest,
    Method,
    ParameterPlace,
    ParameterStyle,
)
from coterie.dsl.model.capabilities import ServerTool
from coterie.dsl.values import Json, JsonValue, NodePath
from coterie.dsl.visible import shortened_text

MAX_OPERATIONS = 2_000
"""Of one API; further ones are not recorded."""

_MAX_BYTES = 100_000
"""Of one operation."""
_MAX_DESCRIPTION = 1_000
_MAX_ARGUMENT = 400
_BODY = "body"

_STYLES: Mapping[ParameterPlace, tuple[ParameterStyle, ...]] = {
    "path": ("simple", "label", "matrix"),
    "query": ("form", "spaceDelimited", "pipeDelimited", "deepObject"),
    "header": ("simple",),
    "cookie": ("form",),
}
"""`{place: the styles that it takes, the default first}`."""

_OF_THE_REQUEST = frozenset(("accept", "content-type", "authorization"))
"""Header parameters that have no effect, by the specification."""
_TOKEN = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
"""The name of a header."""
_FORM = "application/x-www-form-urlencoded"


class UnusableOperation(NamedTuple):
    """An operation that cannot be offered."""

    name: str
    why: str


class ReadOperations(NamedTuple):
    """What a document offers."""

    tools: tuple[ServerTool, ...]
    left_out: tuple[UnusableOperation, ...]


def operations_of(
    document: ApiDocument, server: str, include: Sequence[str] = ()
) -> ReadOperations:
    """Return the operations at a server.

    Args:
        document: The document.
        server: The address of the server.
        include: Globs of the operations to take; empty for all.
    """
    tools: dict[str, ServerTool] = {}
    left_out: list[UnusableOperation] = []
    for written in _written_operations(document):
        if include and not any(fnmatchcase(written.name, glob) for glob in include):
            continue
        place = document.place(written.path)
        if written.name in tools:
            left_out.append(
                UnusableOperation(written.name, f"{place}: an earlier one has the same name")
            )
        elif len(tools) == MAX_OPERATIONS:
            end = f"there are more than {MAX_OPERATIONS}; choose some by `include`"
            left_out.append(UnusableOperation("...", end))
            break
        else:
            try:
                tools[written.name] = _Operation(document, written, server).tool()
            except Unreadable as error:
                left_out.append(UnusableOperation(written.name, f"{place}: {error}"))
    return ReadOperations(tuple(tools.values()), tuple(left_out))


class _Written(NamedTuple):
    """An operation as the document has it."""

    name: str
    method: Method
    template: str
    path: NodePath
    item: Json
    content: JsonValue


def _written_operations(document: ApiDocument) -> Iterator[_Written]:
    paths = document.content.get("paths")
    for template, value in (paths if isinstance(paths, dict) else {}).items():
        try:
            item = document.resolved(value)
        except Unreadable:
            continue  # it has no operation that could be named
        for method in METHODS:
            content = item.get(method.lower())
            if content is not None:
                path: NodePath = ("paths", template, method.lower())
                name = _name(content, method, template)
                yield _Written(name, method, template, path, item, content)


def _name(content: JsonValue, method: str, template: str) -> str:
    own = content.get("operationId") if isinstance(content, dict) else None
    text = own if isinstance(own, str) and own.strip() else f"{method.lower()}{template}"
    plain = text.replace("{", "").replace("}", "")
    return re.sub(r"[^A-Za-z0-9_./-]+", "_", plain).strip("_")


class _Operation:
    """Reads one operation."""

    def __init__(self, document: ApiDocument, written: _Written, server: str) -> None:
        self._document = document
        self._written = written
        self._server = server
        self._schemas = SchemaTranslator(document)
        self._content: Json = {}

    def tool(self) -> ServerTool:
        """Return it as a tool.

        Raises:
            Unreadable: It cannot be one.
        """
        self._content = self._document.resolved(self._written.content)
        self._check_server()
        if not self._written.template.startswith("/"):
            raise Unreadable("its path does not begin with `/`")
        properties: Json = {}
        required: list[JsonValue] = []
        parameters = self._parameters(properties, required)
        body = self._body(properties, required)
        self._check_path(parameters)
        whole: Json = {"type": "object", "properties": properties}
        if required:
            whole["required"] = required
        whole["additionalProperties"] = False
        definitions = self._schemas.definitions()
        if definitions:
            whole["$defs"] = definitions
        problem = schema_problem(whole)
        if problem is not None:
            raise Unreadable(f"the schema of its arguments cannot be checked: {problem}")
        size = len(json.dumps(whole, ensure_ascii=False).encode())
        if size > _MAX_BYTES:
            raise Unreadable(f"the schema of its arguments has {size:,} bytes, of {_MAX_BYTES:,}")
        request = ApiRequest(
            method=self._written.method,
            path=self._written.template,
            parameters=tuple(parameters),
            body=body,
        )
        return ServerTool(
            name=self._written.name,
            description=self._description(),
            input_schema=whole,
            request=request,
        )

    def _description(self) -> str:
        parts = (self._content.get("summary"), self._content.get("description"))
        texts = [part.strip() for part in parts if isinstance(part, str) and part.strip()]
        if len(texts) == 2 and texts[1].startswith(texts[0]):
            del texts[0]
        if self._content.get("deprecated") is True:
            texts.insert(0, "Deprecated.")
        text = "\n".join(texts) or f"{self._written.method} {self._written.template}"
        return shortened_text(text, _MAX_DESCRIPTION)

    def _check_server(self) -> None:
        """Leave out what the document places at another server than the pinned one."""
        servers = self._content.get("servers") or self._written.item.get("servers")
        if not isinstance(servers, list) or not servers:
            return
        urls = [server.get("url") for server in servers if isinstance(server, dict)]
        own = [url for url in urls if isinstance(url, str)]
        base = f"{self._server.rstrip('/')}/"
        if any(urljoin(base, url).rstrip("/") == self._server.rstrip("/") for url in own):
            return
        raise Unreadable(
            f"it is at another server, {', '.join(own[:3]) or 'without an address'}: configure an "
            "API of its own for that one"
        )

    def _parameters(self, properties: Json, required: list[JsonValue]) -> list[ApiParameter]:
        """Return its parameters; add their arguments to the properties."""
        found = [*self._written_parameters()]
        names = Counter(str(content["name"]) for content, _ in found)
        result: list[ApiParameter] = []
        for content, place in found:
            name = str(content["name"])
            if place == "header" and name.lower() in _OF_THE_REQUEST | CONNECTION_HEADERS:
                continue
            is_clear = names[name] == 1 and not (name == _BODY and "requestBody" in self._content)
            argument = name if is_clear else f"{name}_{place}"
            is_needed = place == "path" or content.get("required") is True
            try:
                parameter, schema = self._parameter(content, place, name, argument)
            except Unreadable as error:
                if is_needed:
                    raise Unreadable(f"its parameter {name!r}: {error}") from None
                continue
            result.append(parameter)
            properties[argument] = _with_description(schema, content.get("description"))
            if is_needed:
                required.append(argument)
        return result

    def _written_parameters(self) -> Iterator[tuple[Json, ParameterPlace]]:
        """Yield its parameters; those of the operation replace those of its path."""
        merged: dict[tuple[str, str], Json] = {}
        for holder in (self._written.item, self._content):
            written = holder.get("parameters")
            for value in written if isinstance(written, list) else ():
                content = self._document.resolved(value)
                name, place = content.get("name"), content.get("in")
                if not isinstance(name, str) or not name:
                    raise Unreadable("one of its parameters has no name")
                if place not in get_args(ParameterPlace):
                    raise Unreadable(f"its parameter {name!r} is in {place!r}")
                merged[name, str(place)] = content
        for (_, place), content in merged.items():
            yield content, cast("ParameterPlace", place)

    def _parameter(
        self, content: Json, place: ParameterPlace, name: str, argument: str
    ) -> tuple[ApiParameter, JsonValue]:
        if place == "header" and _TOKEN.fullmatch(name) is None:
            raise Unreadable("a header has no such name")
        media = content.get("content")
        if isinstance(media, dict) and media:
            type, form = next(iter(media.items()))
            if not _is_json(type):
                raise Unreadable(f"its value is {type!r}, and only JSON is written here")
            schema = form.get("schema") if isinstance(form, dict) else None
            parameter = ApiParameter(name=name, place=place, argument=argument, style="json")
            return parameter, self._schemas.translated(schema)
        styles = _STYLES[place]
        style = content.get("style", styles[0])
        if style not in styles:
            raise Unreadable(f"the style {style!r} is none of a {place}: {', '.join(styles)}")
        explode = content.get("explode", style in ("form", "deepObject"))
        parameter = ApiParameter(
            name=name,
            place=place,
            argument=argument,
            style=style,
            explode=explode is True,
            reserved=place == "query" and content.get("allowReserved") is True,
        )
        return parameter, self._schemas.translated(content.get("schema"))

    def _check_path(self, parameters: Sequence[ApiParameter]) -> None:
        in_path = [parameter.name for parameter in parameters if parameter.place == "path"]
        wanted = re.findall(r"\{([^{}]*)\}", self._written.template)
        lacking = [name for name in wanted if name not in in_path]
        if lacking:
            raise Unreadable(f"its path has {lacking[0]!r}, which is no parameter")

    def _body(self, properties: Json, required: list[JsonValue]) -> ApiBody | None:
        """Return its body; add its argument to the properties."""
        written = self._content.get("requestBody")
        if written is None:
            return None
        content = self._document.resolved(written)
        media = content.get("content")
        types: Json = media if isinstance(media, dict) else {}
        ranks = {type: rank for type in types if (rank := _rank(type)) is not None}
        chosen = min(ranks, key=lambda type: ranks[type], default=None)
        if not types:
            return None
        if chosen is None:
            raise Unreadable(
                f"its body is {' or '.join(list(types)[:3])}, and JSON, forms and texts are sent"
            )
        form = types[chosen]
        details: Json = form if isinstance(form, dict) else {}
        properties[_BODY] = _with_description(
            self._schemas.translated(details.get("schema")), content.get("description")
        )
        if content.get("required") is True:
            required.append(_BODY)
        type = "application/json" if "*" in chosen else chosen
        if _is_json(type):
            return ApiBody(form="json", type=type, argument=_BODY)
        if _plain(type) == _FORM:
            return ApiBody(form="form", type=_FORM, argument=_BODY, styles=_form_styles(details))
        return ApiBody(form="text", type=type, argument=_BODY)


def _form_styles(details: Json) -> dict[str, ParameterStyle]:
    """Return the styles of the fields of a form that are not the default."""
    encoding = details.get("encoding")
    styles: dict[str, ParameterStyle] = {}
    for name, part in (encoding if isinstance(encoding, dict) else {}).items():
        style = part.get("style") if isinstance(part, dict) else None
        if style in _STYLES["query"]:
            styles[name] = style
    return styles


def _with_description(schema: JsonValue, description: JsonValue) -> JsonValue:
    """Return a schema with what its parameter or body is for, unless it has a description."""
    if not isinstance(schema, dict) or not isinstance(description, str) or not description.strip():
        return schema
    own: Json = {"description": shortened_text(description.strip(), _MAX_ARGUMENT)}
    return own | schema


def _is_json(type: str) -> bool:
    plain = _plain(type)
    return plain == "application/json" or plain.endswith("+json")


def _rank(type: str) -> int | None:
    """Return how much a type of a body is preferred, 0 the most; None for one that is not sent."""
    plain = _plain(type)
    kinds = (
        plain == "application/json",
        plain.endswith("+json"),
        plain == _FORM,
        plain in ("*/*", "application/*"),
        plain.startswith("text/"),
    )
    return next((rank for rank, fits in enumerate(kinds) if fits), None)


def _plain(type: str) -> str:
    return type.partition(";")[0].strip().lower()
