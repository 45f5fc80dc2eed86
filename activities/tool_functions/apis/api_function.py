"""Call an operation of an HTTP API as a function, by the terms of the worker's configuration."""

from base64 import b64encode
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from pydantic import JsonValue

from coterie.activities.contracts import FailureType
from coterie.activities.tool_functions.apis.api_answers import ApiAnswer, check_status
from coterie.activities.workspace.call_effects import shown
from coterie.activities.workspace.function_base import FunctionContext
from coterie.activities.workspace.function_failures import FunctionFailure, FunctionRefusal
from coterie.activities.workspace.web_access import WebAccess
from coterie.dsl.apis.parameter_styles import encoded
from coterie.dsl.apis.request_building import (
    BuiltRequest,
    RequestRefused,
    build_request,
    stands_in_header,
    with_header,
)
from coterie.dsl.compile.server_offers import contract_of, tools_of
from coterie.dsl.json_schema.schema_checker import UnusableSchema, mismatches
from coterie.dsl.json_values import describe_kind
from coterie.dsl.model.capabilities import Effect, ServerListing, ServerTool
from coterie.dsl.model.sections.api_document import ApiSection
from coterie.dsl.model.sections.mcp_document import digest_of_tool
from coterie.dsl.paths import MISSING, get, parse
from coterie.dsl.redaction import HIDDEN
from coterie.dsl.strict_json import read_json
from coterie.dsl.values import MAX_CALL_SECONDS, Json

_MIN_SECRET = 8
"""Characters of a secret that is masked; shorter ones match ordinary text too often."""
_IN_KEY = "!#$&'()*+,/:;<=>?@[]^`{|}\\\""
"""Characters that a key of a call keeps in a header, beside letters, digits and `-._~`."""


@dataclass(frozen=True)
class HttpApi:
    """A configured API with its secrets."""

    name: str
    section: ApiSection
    values: Mapping[str, str] = field(repr=False)
    """The secrets that it names."""
    access: WebAccess = field(default_factory=WebAccess)
    """Which private hosts the worker may reach."""

    def proven(self, request: BuiltRequest) -> BuiltRequest:
        """Return a request with what shows who calls.

        Raises:
            FunctionRefusal: The worker lacks a secret, or one cannot be sent.
        """
        section = self.section
        headers = dict(request.headers)
        for name, secret in section.headers.items():
            headers = with_header(headers, name, self._in_header(secret))
        if section.token_env is not None:
            token = f"Bearer {self._in_header(section.token_env)}"
            headers = with_header(headers, "Authorization", token)
        if section.basic_env is not None:
            pair = self._secret(section.basic_env).encode()
            basic = f"Basic {b64encode(pair).decode()}"
            headers = with_header(headers, "Authorization", basic)
        cookies = [f"{name}={self._in_header(secret)}" for name, secret in section.cookies.items()]
        if cookies:
            own = [headers["Cookie"]] if "Cookie" in headers else []
            headers["Cookie"] = "; ".join((*own, *cookies))
        query = [f"{encoded(name)}={encoded(self._secret(v))}" for name, v in section.query.items()]
        joint = "&" if "?" in request.url else "?"
        url = f"{request.url}{joint}{'&'.join(query)}" if query else request.url
        return request._replace(url=url, headers=headers)

    def without_secrets(self, text: str) -> str:
        """Return an answer without the secrets of its request, which some servers repeat."""
        for name in self.section.secrets:
            value = self.values.get(name, "")
            parts = value.split(":", 1) if name == self.section.basic_env else [value]
            for part in parts:
                if len(part) >= _MIN_SECRET:
                    text = text.replace(part, HIDDEN)
        return text

    def _in_header(self, name: str) -> str:
        value = self._secret(name).strip(" \t")
        if not stands_in_header(value):
            raise FunctionRefusal(
                f"the API {self.name!r} has {name} in a header, which takes printable ASCII "
                "characters; correct its value in this worker's environment"
            )
        return value

    def _secret(self, name: str) -> str:
        value = self.values.get(name)
        if value is None:
            raise FunctionRefusal(
                f"the API {self.name!r} needs {name}, which this worker's environment lacks"
            )
        if not value.isascii() and any("\ud800" <= mark <= "\udfff" for mark in value):
            raise FunctionRefusal(
                f"the API {self.name!r} needs {name}, whose value here is no UTF-8"
            )
        return value


class Apis:
    """The configured APIs of one worker, with their recorded operations."""

    def __init__(
        self, apis: Mapping[str, HttpApi], recorded: Callable[[], Mapping[str, ServerListing]]
    ) -> None:
        """Store what is configured; nothing is read yet.

        Args:
            apis: By name.
            recorded: Returns the recorded listings.
        """
        self.apis = apis
        self._recorded = recorded
        self._known: dict[str, tuple[ServerListing | None, dict[str, ServerTool]]] = {}

    def operation(self, api: str, name: str) -> ServerTool | None:
        """Return an operation as it is recorded now; None if there is none of this name."""
        listing = self._recorded().get(api)
        known = self._known.get(api)
        if known is None or known[0] is not listing:
            tools = tools_of(self.apis[api].section, listing)
            known = self._known[api] = (listing, {tool.name: tool for tool in tools})
        return known[1].get(name)


@dataclass(frozen=True)
class ApiFunction:
    """An operation of a configured API."""

    api: str
    operation: str
    apis: Apis = field(repr=False)
    listing: str | None = None
    """Digest of the operation that the plan was compiled with; None calls it as it is now."""

    @property
    def name(self) -> str:
        """`api/operation`."""
        return f"{self.api}/{self.operation}"

    @property
    def effect(self) -> Effect:
        """What a repeated call does, by its method and the worker's configuration."""
        tool = self.apis.operation(self.api, self.operation)
        return "once" if tool is None else self.apis.apis[self.api].section.effect_of(tool)

    async def call(self, value: JsonValue, context: FunctionContext) -> JsonValue:
        """Call the operation, if it has not changed since the plan was compiled.

        Raises:
            FunctionRefusal: It has changed, an argument cannot be sent, or the API refuses the
                call.
            FunctionFailure: It failed, or no answer came.
        """
        from coterie.activities.tool_functions.apis.api_calls import send

        api = self.apis.apis[self.api]
        tool = self._pinned_operation()
        request = tool.request
        assert request is not None, "operations have one"
        arguments = self._check_input(value, tool)
        if api.section.agent is not None:
            return await self._message(api, arguments, context)
        terms = api.section.terms_of(tool.name)
        try:
            built = build_request(api.section, request, arguments, terms)
        except RequestRefused as refused:
            raise FunctionRefusal(f"{self.name}: {refused}") from None
        proven = api.proven(built)
        if terms.key_header is not None:
            headers = with_header(proven.headers, terms.key_header, encoded(context.key, _IN_KEY))
            proven = proven._replace(headers=headers)
        seconds = min(context.timeout or terms.timeout or api.section.timeout, MAX_CALL_SECONDS)
        answer = await send(proven, api.access, self.name, seconds, context.effect.begin)
        headers = {key: api.without_secrets(value) for key, value in answer.headers.items()}
        answer = answer._replace(text=api.without_secrets(answer.text), headers=headers)
        check_status(self.name, answer)
        if request.method == "HEAD":
            return dict(answer.headers)
        return self._result(answer, request.result, tool.output_schema)

    async def _message(self, api: HttpApi, arguments: Json, context: FunctionContext) -> JsonValue:
        """Send a message to a remote agent, or ask for its task."""
        from coterie.activities.tool_functions.apis.remote_agents import RemoteAgent

        terms = api.section.terms_of(self.operation)
        seconds = context.timeout or terms.timeout or api.section.timeout
        return await RemoteAgent(api, self.name, context, seconds).call(arguments)

    def _pinned_operation(self) -> ServerTool:
        """Return the operation, if it is still the one that the plan was compiled with."""
        tool = self.apis.operation(self.api, self.operation)
        if tool is None:
            raise FunctionRefusal(
                f"this worker has no operation {self.name!r}; run `coterie tools refresh "
                f"{self.api}` there, or correct `worker.apis`",
                FailureType.TOOL_CHANGED,
            )
        if self.listing is not None and digest_of_tool(tool) != self.listing:
            assert tool.request is not None, "operations have one"
            now = f"{tool.request.method} {tool.request.path}"
            raise FunctionRefusal(
                f"{self.name} has changed since the plan of this run was compiled; it is now {now} "
                f"with the input {shown(tool.input_schema)}. Start the run anew",
                FailureType.TOOL_CHANGED,
            )
        return tool

    def _check_input(self, value: JsonValue, tool: ServerTool) -> Json:
        value = {} if value is None else value
        if not isinstance(value, dict):
            raise FunctionRefusal(f"{self.name} takes a mapping, not {describe_kind(value)}")
        try:
            problems = mismatches(value, self._schema(tool), "the input")
        except UnusableSchema:  # only a listing that nobody of us wrote has one
            return value
        if problems:
            raise FunctionRefusal(f"invalid input for {self.name}: {'; '.join(problems)}")
        return value

    def _schema(self, tool: ServerTool) -> Json:
        return contract_of(self.api, self.apis.apis[self.api].section, tool).input_schema

    def _result(self, answer: ApiAnswer, part: str, schema: Json | None) -> JsonValue:
        data = self._data(answer)
        if part:
            found = get(data, parse(part))
            if found is MISSING:
                raise self._unusable(f"the answer of {self.name} has no {part!r}", answer)
            data = found
        if schema is not None and (problems := mismatches(data, schema, "the result")):
            raise self._unusable(
                f"{self.name} returned a result that violates its contract: {'; '.join(problems)}",
                answer,
            )
        return data

    def _data(self, answer: ApiAnswer) -> JsonValue:
        """Return a JSON answer as its value, another text as text, and no answer as null."""
        if not answer.text:
            return None
        if not answer.is_json:
            return answer.text
        try:
            return read_json(answer.text)
        except ValueError as error:
            raise self._unusable(f"{self.name} answered with no JSON: {error}", answer) from None

    def _unusable(self, why: str, answer: ApiAnswer) -> FunctionFailure:
        return FunctionFailure(why, happened="yes", said=shown(answer.text))
