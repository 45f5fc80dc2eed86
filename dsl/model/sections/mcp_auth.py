"""How a worker proves to an MCP server who it is, by OAuth 2.1; the values are secrets by name."""

from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from coterie.dsl.model.sections.access_document import is_safe_url
from coterie.dsl.model.sections.variable_names import VariableName
from coterie.dsl.values import Frozen, form_mismatch


def _token_address(text: str) -> str:
    if not is_safe_url(text):
        raise form_mismatch(
            "token_url",
            "an https address such as https://login.example.com/token; http only of localhost",
        )
    return text


ClientId = Annotated[str, Field(min_length=1, max_length=500)]
Scope = Annotated[str, Field(pattern=r"^[\x21\x23-\x5B\x5D-\x7E]{1,200}$")]
TokenAddress = Annotated[str, AfterValidator(_token_address)]


class LoginAuth(Frozen):
    """A person has signed in for this worker: `coterie mcp login SERVER`."""

    type: Literal["login"]
    client_id: ClientId | None = None
    """A client that is registered at the authorization server. Default: a new one is registered."""
    scopes: tuple[Scope, ...] = ()
    """What is asked for. Default: what the server names."""


class ClientCredentialsAuth(Frozen):
    """The worker is a client itself, with a secret."""

    type: Literal["client_credentials"]
    token_url: TokenAddress
    """The token endpoint of the authorization server."""
    client_id: ClientId
    secret_env: VariableName
    """The NAME of the environment variable with the client's secret."""
    scopes: tuple[Scope, ...] = ()


class PrivateKeyAuth(Frozen):
    """The worker is a client itself, with a key that never leaves it (`private_key_jwt`)."""

    type: Literal["private_key"]
    token_url: TokenAddress
    """The token endpoint of the authorization server."""
    client_id: ClientId
    key_env: VariableName
    """The NAME of the environment variable with the private key, in PEM."""
    algorithm: Literal["RS256", "ES256", "EdDSA"] = "RS256"
    audience: Annotated[str, Field(min_length=1, max_length=500)] | None = None
    """The `aud` of what the worker signs. Default: `token_url`."""
    scopes: tuple[Scope, ...] = ()


McpAuth = Annotated[LoginAuth | ClientCredentialsAuth | PrivateKeyAuth, Field(discriminator="type")]
"""How a worker gets access tokens for a server."""
