"""The section `worker.mcp_servers`: the MCP servers whose tools documents may use."""

import json
from hashlib import sha256
from typing import Annotated, assert_never

from pydantic import Field, model_validator

from coterie.dsl.model.capabilities import Effect, Label, ServerTool
from coterie.dsl.model.sections.access_document import is_safe_url
from coterie.dsl.model.sections.mcp_auth import (
    ClientCredentialsAuth,
    LoginAuth,
    McpAuth,
    PrivateKeyAuth,
)
from coterie.dsl.model.sections.variable_names import VariableName
from coterie.dsl.model.tools.offer_names import kind_of_offer, matches_offer
from coterie.dsl.values import MAX_CALL_SECONDS, Frozen, JsonValue, Timeout, form_mismatch

ServerName = Annotated[str, Field(pattern=r"^[a-zA-Z0-9_-]{1,40}$")]
_HEADER = r"^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}$"
HeaderName = Annotated[str, Field(pattern=_HEADER)]


class McpToolTerms(Frozen):
    """What the worker trusts tools of a server with, beyond the strictest terms."""

    effect: Effect | None = None
    """What a repeated call does. Default: `once` for tools, whatever the server says; `read` for
    resources and prompts."""
    labels: tuple[Label, ...] | None = None
    """Default: `untrusted` and `egress`; without `egress` for resources and prompts that take no
    arguments."""
    timeout: Timeout | None = Field(default=None, le=MAX_CALL_SECONDS)
    """Time limit of one attempt. Default: that of the server."""
    retries: int | None = Field(default=None, ge=0, le=100)
    """Additional attempts of a call whose effect is not `once`. Default: 2."""
    local_activity: bool = False
    """Whether documents get the tools as local activities; only for short reads without retries."""

    @model_validator(mode="after")
    def _check_retry(self) -> "McpToolTerms":
        if self.retries and self.effect in (None, "once"):
            raise form_mismatch(
                "mcp_server", "`retries` needs `effect: read` or `idempotent`: others have none"
            )
        return self


class McpServerSection(Frozen):
    """An MCP server: a command that speaks on its standard input and output, or an address."""

    command: tuple[str, ...] = ()
    """Program and arguments; no shell. It runs in the workspace."""
    env: tuple[VariableName, ...] = ()
    """Names of further environment variables that the command may see."""
    url: str | None = Field(default=None, pattern=r"^https?://[^\s/@]+(/\S*)?$")
    """The address of a server that speaks streamable HTTP."""
    headers: dict[HeaderName, VariableName] = Field(default_factory=dict[HeaderName, VariableName])
    """`{header: the NAME of the environment variable with its value}`."""
    token_env: VariableName | None = None
    """The NAME of the environment variable with the token of `Authorization: Bearer`."""
    auth: McpAuth | None = None
    """How the worker gets access tokens by OAuth. Default: `token_env`, or none."""
    timeout: Timeout = Field(default=60.0, le=MAX_CALL_SECONDS)
    """Time limit of one attempt of a call."""
    start_timeout: Timeout = Field(default=15.0, le=300)
    """Time limit for starting the server, or connecting to it."""
    tools: dict[str, McpToolTerms] = Field(default_factory=dict[str, McpToolTerms])
    """`{tool, or a glob of tools: its terms}`; the first entry that matches counts."""

    @model_validator(mode="after")
    def _check_transport(self) -> "McpServerSection":
        if bool(self.command) == (self.url is not None):
            raise form_mismatch("mcp_server", "an MCP server has one of `command` and `url`")
        if self.url is not None and self.env:
            raise form_mismatch("mcp_server", "`env` is for a command, and this server has a `url`")
        if self.command and (self.headers or self.token_env is not None):
            raise form_mismatch(
                "mcp_server", "`headers` and `token_env` are for a `url`; a command gets `env`"
            )
        if self.auth is not None and (
            self.url is None or self.token_env is not None or not is_safe_url(self.url)
        ):
            raise form_mismatch(
                "mcp_server",
                "`auth` is for an https `url` without `token_env`; http only of localhost",
            )
        if self.command and not self.command[0].strip():
            raise form_mismatch(
                "mcp_server", "a program and its arguments; the program is not empty"
            )
        return self

    def terms_of(self, tool: str) -> McpToolTerms:
        """Return the terms of one of its tools."""
        for pattern, terms in self.tools.items():
            if matches_offer(tool, pattern):
                return terms
        return McpToolTerms()

    def effect_of(self, tool: str) -> Effect:
        """Return what a repeated call does: the protocol only reads resources and prompts."""
        default = "once" if kind_of_offer(tool) == "tool" else "read"
        return self.terms_of(tool).effect or default

    @property
    def secrets(self) -> tuple[str, ...]:
        """The names of the environment variables that it gets."""
        token = () if self.token_env is None else (self.token_env,)
        return tuple(dict.fromkeys((*self.env, *self.headers.values(), *token, *self._proofs)))

    @property
    def _proofs(self) -> tuple[str, ...]:
        match self.auth:
            case ClientCredentialsAuth(secret_env=name) | PrivateKeyAuth(key_env=name):
                return (name,)
            case LoginAuth() | None:
                return ()
            case _:
                assert_never(self.auth)


def digest_of_tool(tool: ServerTool) -> str:
    """Return the digest of a tool as its server lists it; the order of keys does not count."""
    return digest_of_json(tool.model_dump(mode="json"))


def digest_of_address(section: McpServerSection) -> str:
    """Return the digest of where a server is: its command or address."""
    return digest_of_json([*section.command] if section.command else section.url)


def digest_of_json(value: JsonValue) -> str:
    """Return the digest of a value; the order of keys does not count."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"))
    return sha256(text.encode()).hexdigest()
