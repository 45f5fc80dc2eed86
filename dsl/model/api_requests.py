"""How the arguments of an operation become an HTTP request: where each stands, and in which form.

Pure data, which a listing records and a plan pins by its digest.
"""

from typing import Annotated, Literal, get_args

from pydantic import Field

from coterie.dsl.values import Frozen, JsonValue

Method = Literal["GET", "HEAD", "PUT", "DELETE", "POST", "PATCH"]
METHODS: tuple[Method, ...] = get_args(Method)

ParameterPlace = Literal["path", "query", "header", "cookie"]

ParameterStyle = Literal[
    "simple", "label", "matrix", "form", "spaceDelimited", "pipeDelimited", "deepObject", "json"
]
"""The styles of OpenAPI; `json`: the value is one JSON text."""

CONNECTION_HEADERS = frozenset(
    (
        *("host", "content-length", "transfer-encoding", "connection", "keep-alive", "te"),
        *("trailer", "upgrade", "proxy-authenticate", "proxy-authorization", "proxy-connection"),
        *("http2-settings", "cookie"),
    )
)
"""Headers that no parameter and no configuration gives, in lower case: those of the connection, and
that of all cookies, each of which has a place of its own."""

BodyForm = Literal["json", "form", "text"]


class ApiParameter(Frozen):
    """A part of a request beside its body."""

    name: str
    """On the wire."""
    place: ParameterPlace
    argument: str = ""
    """The argument with its value; empty for a constant."""
    value: JsonValue = None
    """Of a constant."""
    style: ParameterStyle = "simple"
    explode: bool = False
    reserved: bool = False
    """Whether characters that have a meaning in queries stay as they are (`allowReserved`)."""


class ApiBody(Frozen):
    """The body of a request."""

    form: BodyForm = "json"
    type: str = "application/json"
    """Its media type."""
    argument: str = ""
    """The argument that is the body; empty if `template` is."""
    template: JsonValue = None
    """A value whose texts `{name}` stand for arguments."""
    styles: dict[str, ParameterStyle] = Field(default_factory=dict[str, ParameterStyle])
    """Of a form: the styles of fields that have another one than `form`."""


class ApiRequest(Frozen):
    """How one operation is called."""

    method: Method
    path: Annotated[str, Field(pattern=r"^/")]
    """Below the address of the server, with `{name}` for each parameter of the path."""
    parameters: tuple[ApiParameter, ...] = ()
    body: ApiBody | None = None
    result: str = ""
    """The part of the answer that is the result: names and indexes with dots; empty for all."""
