"""The section `worker.apis`: the HTTP APIs whose operations documents may use as tools."""

import re
from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase
from pathlib import PurePosixPath
from typing import Annotated, Literal

from pydantic import Field, JsonValue, model_validator

from coterie.dsl.json_values import is_whole_schema
from coterie.dsl.model.api_requests import CONNECTION_HEADERS, ApiParameter, Method
from coterie.dsl.model.capabilities import Effect, Label, ServerTool
from coterie.dsl.model.sections.mcp_document import HeaderName, digest_of_json
from coterie.dsl.model.sections.variable_names import VariableName
from coterie.dsl.values import MAX_CALL_SECONDS, Frozen, Json, Timeout, form_mismatch

EFFECT_OF_METHOD: dict[Method, Effect] = {
    "GET": "read",
    "HEAD": "read",
    "PUT": "idempotent",
    "DELETE": "idempotent",
    "POST": "once",
    "PATCH": "once",
}
"""What a repeated request does, as HTTP defines it (RFC 9110, 9.2)."""

PLACEHOLDER = re.compile(r"\{([A-Za-z_][A-Za-z0-9_]{0,49})\}")
_SERVER = r"^https?://[^\s/@?#{}]+(/[^\s?#{}]*)?$"

CallName = Annotated[str, Field(pattern=r"^[A-Za-z][A-Za-z0-9_-]{0,49}$")]
WireName = Annotated[str, Field(pattern=r"^[^\s{}\x00-\x1f]{1,100}$")]


AgentBinding = Literal["jsonrpc", "http+json"]
"""The forms of A2A in which an agent takes requests."""


class ApiTerms(Frozen):
    """What the worker trusts operations of an API with, where that differs from their methods."""

    effect: Effect | None = None
    """What a repeated call does. Default: `read` for GET and HEAD, `idempotent` for PUT and DELETE,
    `once` for POST and PATCH."""
    key_header: HeaderName | None = None
    """The header in which the API takes a key of the call, by which it recognises a repeat, such as
    `Idempotency-Key`; the effect of POST and PATCH is then `idempotent`."""
    labels: tuple[Label, ...] | None = None
    """Default: `untrusted` and `egress`; without `egress` for a read without arguments."""
    timeout: Timeout | None = Field(default=None, le=MAX_CALL_SECONDS)
    """Time limit of one attempt. Default: that of the API."""
    retries: int | None = Field(default=None, ge=0, le=100)
    """Additional attempts of a call whose effect is not `once`. Default: 2."""
    local_activity: bool = False
    """Whether documents get the operations as local activities; only for short reads without
    retries."""

    @model_validator(mode="after")
    def _check_retry(self) -> "ApiTerms":
        if self.retries and self.effect == "once":
            raise form_mismatch("api", "`retries` needs `effect: read` or `idempotent`")
        return self


class ApiCallSection(Frozen):
    """A declared call: `{name}` stands for an argument, alone or in the path."""

    method: Method = "GET"
    path: str = Field(pattern=r"^/[^\s?#]*$")
    """Below `server`; each `{name}` is one encoded part."""
    description: str = ""
    """What it does; models choose by it."""
    query: dict[WireName, JsonValue] = Field(default_factory=dict[WireName, JsonValue])
    """`{name: a value, or "{argument}"}`."""
    headers: dict[HeaderName, str] = Field(default_factory=dict[HeaderName, str])
    """`{name: a text, or "{argument}"}`."""
    body: JsonValue = None
    """A JSON value; each text `"{argument}"` in it stands for that argument."""
    input_schema: Json = Field(default_factory=dict[str, JsonValue])
    """`{argument: JSON Schema}`, or a whole JSON Schema of an object with optional arguments.
    Default: each argument is a text, and required."""
    result: str = Field(default="", pattern=r"^([^.\s]+(\.[^.\s]+)*)?$")
    """The part of the answer that is the result, such as `data.items`; default: all of it."""
    output_schema: Json = Field(default_factory=dict[str, JsonValue])
    """JSON Schema of the result."""

    @model_validator(mode="after")
    def _check_headers(self) -> "ApiCallSection":
        _refuse_connection_headers(self.headers)
        return self

    @model_validator(mode="after")
    def _placeholders_stand_alone(self) -> "ApiCallSection":
        for text in _texts([*self.query.values(), *self.headers.values(), self.body]):
            found = PLACEHOLDER.search(text)
            if found is not None and found[0] != text:
                raise form_mismatch(
                    "api",
                    "`{placeholder}` is the whole value; only a path has one beside other text",
                    placeholder=found[0],
                )
        unused = [] if is_whole_schema(self.input_schema) else [*self.input_schema]
        for name in unused:
            if name not in self.arguments:
                raise form_mismatch(
                    "api",
                    "`input_schema` has only arguments of the call, and `{name}` stands nowhere",
                    name=name,
                )
        return self

    @property
    def arguments(self) -> tuple[str, ...]:
        """The arguments of the call, in the order of their first places."""
        texts = _texts([*self.query.values(), *self.headers.values(), self.body])
        names = [name for text in (self.path, *texts) for name in PLACEHOLDER.findall(text)]
        return tuple(dict.fromkeys(names))


def _texts(value: JsonValue) -> Iterator[str]:
    match value:
        case str():
            yield value
        case list():
            for item in value:
                yield from _texts(item)
        case dict():
            yield from _texts([*value.values()])
        case _:
            return


def _refuse_connection_headers(names: Iterable[str]) -> None:
    for name in names:
        if name.lower() in CONNECTION_HEADERS:
            raise form_mismatch(
                "api",
                "`headers` has none of the connection, and no `Cookie`: remove `{name}`",
                name=name,
            )


class ApiSection(Frozen):
    """An HTTP API: where it is, what it takes as proof, and its operations."""

    server: str = Field(pattern=_SERVER)
    """The address below which all operations are; no run and no document of the API changes it."""
    openapi: str | None = None
    """The file of its OpenAPI 3.0 or 3.1 document (YAML or JSON), relative to this file."""
    include: tuple[str, ...] = ()
    """Globs of the operations to record from it, such as `issues/*`; empty for all."""
    calls: dict[CallName, ApiCallSection] = Field(default_factory=dict[CallName, ApiCallSection])
    """`{name: a declared call}`: operations without a document."""
    agent: AgentBinding | None = None
    """At `server` is a remote agent, which speaks A2A 1.0 in this form; it has the operation
    `message`."""
    description: str = Field(default="", max_length=2_000)
    """What the agent does; models choose by it."""
    token_env: VariableName | None = None
    """The NAME of the environment variable with the token of `Authorization: Bearer`."""
    basic_env: VariableName | None = None
    """The NAME of the environment variable with `user:password` of `Authorization: Basic`."""
    headers: dict[HeaderName, VariableName] = Field(default_factory=dict[HeaderName, VariableName])
    """`{header: the NAME of the environment variable with its value}`."""
    query: dict[WireName, VariableName] = Field(default_factory=dict[WireName, VariableName])
    """`{parameter of each query: the NAME of the environment variable with its value}`."""
    cookies: dict[HeaderName, VariableName] = Field(default_factory=dict[HeaderName, VariableName])
    """`{cookie: the NAME of the environment variable with its value}`."""
    timeout: Timeout = Field(default=30.0, le=MAX_CALL_SECONDS)
    """Time limit of one attempt of a call."""
    tools: dict[str, ApiTerms] = Field(default_factory=dict[str, ApiTerms])
    """`{operation, or a glob of operations: its terms}`; the first entry that matches counts."""

    @model_validator(mode="after")
    def _check_parts(self) -> "ApiSection":
        if self.agent is not None and (self.openapi is not None or self.calls):
            raise form_mismatch("api", "an `agent` has no `openapi` and no `calls`")
        if self.agent is None and self.description:
            raise form_mismatch("api", "`description` is that of an `agent`")
        if self.agent is None and self.openapi is None and not self.calls:
            raise form_mismatch("api", "an API has `openapi`, `calls`, both, or `agent`")
        if self.openapi is None and self.include:
            raise form_mismatch("api", "`include` chooses operations of the document in `openapi`")
        if self.token_env is not None and self.basic_env is not None:
            raise form_mismatch("api", "an API has one of `token_env` and `basic_env`")
        _refuse_connection_headers(self.headers)
        return self

    def terms_of(self, tool: str) -> ApiTerms:
        """Return the terms of one of its operations."""
        for glob, terms in self.tools.items():
            if fnmatchcase(tool, glob):
                return terms
        return ApiTerms()

    def effect_of(self, tool: ServerTool) -> Effect:
        """Return what a repeated call does."""
        terms = self.terms_of(tool.name)
        if terms.effect is not None:
            return terms.effect
        own = "once" if tool.request is None else EFFECT_OF_METHOD[tool.request.method]
        return "idempotent" if own == "once" and terms.key_header is not None else own

    def gives(self, parameter: ApiParameter, terms: ApiTerms) -> bool:
        """Return whether the worker or the connection gives a parameter, so that no caller does.

        Args:
            parameter: Of an operation.
            terms: Of the operation.
        """
        match parameter.place:
            case "query":
                return parameter.name in self.query
            case "cookie":
                return parameter.name in self.cookies
            case "header":
                given = {*CONNECTION_HEADERS, *map(str.lower, self.headers)}
                if terms.key_header is not None:
                    given.add(terms.key_header.lower())
                if self.token_env is not None or self.basic_env is not None:
                    given.add("authorization")
                return parameter.name.lower() in given
            case "path":
                return False

    @property
    def secrets(self) -> tuple[str, ...]:
        """The names of the environment variables that its requests carry."""
        others = (self.token_env, self.basic_env)
        named = (*self.headers.values(), *self.query.values(), *self.cookies.values(), *others)
        return tuple(dict.fromkeys(name for name in named if name is not None))

    @property
    def document_name(self) -> str:
        """The name of the document's file, without its folders."""
        return PurePosixPath(self.openapi or "").name


def digest_of_api(section: ApiSection) -> str:
    """Return the digest of where the recorded operations of an API are."""
    return digest_of_json([section.server, section.document_name, *section.include])
