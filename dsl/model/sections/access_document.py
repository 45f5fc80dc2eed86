"""The section `access` of `coterie.yml`: how people and programs sign in, and what they may do."""

from ipaddress import ip_network
from typing import Annotated, Literal, Self
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field, model_validator

from coterie.dsl.model.sections.safe_addresses import SLACK_API, is_safe_url, slack_api
from coterie.dsl.model.sections.variable_names import VariableName
from coterie.dsl.values import Frozen, Seconds, form_mismatch

RoleName = Literal["viewer", "starter", "operator", "approver", "admin"]
"""What an identity may do with the runs of a team; each role is granted by itself."""


def _issuer(text: str) -> str:
    if not is_safe_url(text) or urlsplit(text).query or urlsplit(text).fragment:
        raise form_mismatch(
            "issuer", "an https address such as https://login.example.com; http only of localhost"
        )
    return text


def _origin(text: str) -> str:
    parts = urlsplit(text)
    if not is_safe_url(text) or parts.path not in ("", "/") or parts.query or parts.fragment:
        raise form_mismatch(
            "origin", "an https address without a path, such as https://coterie.example.com"
        )
    return text.rstrip("/")


def _network(text: str) -> str:
    try:
        ip_network(text)
    except ValueError:
        raise form_mismatch("network", "a network such as 10.0.0.0/8, or one address") from None
    return text


Issuer = Annotated[str, AfterValidator(_issuer)]
Origin = Annotated[str, AfterValidator(_origin)]
NetworkText = Annotated[str, AfterValidator(_network)]
Named = Annotated[str, Field(min_length=1, max_length=300)]


class OidcSection(Frozen):
    """The OpenID Connect provider at which people sign in, and programs get access tokens."""

    issuer: Issuer
    """Its address, exactly as its discovery document writes it."""
    client_id: Named
    client_secret_env: VariableName | None = None
    """The NAME of the environment variable with the client's secret. Default: a public client,
    with PKCE alone."""
    scopes: tuple[Named, ...] = ("openid", "email", "profile")
    """What is asked for; some providers want `groups`, or `offline_access` for renewal."""
    groups_claim: Named = "groups"
    """The claim with the person's groups: a text or a list of texts."""
    approver_claim: Named | None = None
    """The claim that names a person who decides. Default: `email` if the provider has verified it,
    else `sub`."""
    audience: Named | None = None
    """The `aud` of access tokens that programs present. Default: only tokens for `/mcp` count,
    there alone."""
    scope_prefix: Annotated[str, Field(pattern=r"^[A-Za-z0-9._:/-]{1,200}$")] | None = None
    """What the scopes that name roles begin with: `coterie.` for `coterie.viewer`. Then an access
    token has only the roles that its scopes name. Default: scopes name no roles."""
    clock_skew: Seconds = Field(default=60.0, le=300)
    """How far the clocks of the provider and of this machine may differ."""

    @model_validator(mode="after")
    def _tokens_differ(self) -> Self:
        if self.audience == self.client_id:  # then an id token could pass for an access token
            raise form_mismatch("audience", "an `audience` other than the `client_id`")
        return self


SlackPerson = Annotated[str, Field(pattern=r"^[TE][A-Z0-9]{1,30}/[UW][A-Z0-9]{1,30}$")]
"""A workspace of Slack and one of its users: `T0123/U0456`."""


class SlackSection(Frozen):
    """A Slack app: people decide by its buttons, and its threads are sessions."""

    signing_secret_env: VariableName
    """The NAME of the environment variable with the signing secret of the app."""
    bot_token_env: VariableName | None = None
    """The NAME of the environment variable with the app's token, for dialogs and threads."""
    users: dict[SlackPerson, Named] = Field(default_factory=dict[SlackPerson, Named])
    """`{workspace/user: the name with which this person decides}`; nobody else may do anything."""
    team: Named | None = None
    """The team to which threads talk: one whose runs are sessions. Default: threads do nothing."""
    api: Annotated[str, AfterValidator(slack_api)] = SLACK_API
    """The address of Slack's API."""


class GrantSection(Frozen):
    """Roles for the members of groups, or for single people and programs, on some teams."""

    roles: tuple[RoleName, ...] = Field(min_length=1)
    groups: tuple[Named, ...] = ()
    """Groups of the provider; `*` is everybody who signs in there."""
    subjects: tuple[Named, ...] = ()
    """Single people, by their approver's name or `sub`, and programs, by their client id."""
    teams: tuple[Named, ...] = Field(default=("*",), min_length=1)
    """Shell patterns of names of teams."""

    @model_validator(mode="after")
    def _of_somebody(self) -> Self:
        if not self.groups and not self.subjects:
            raise form_mismatch("grant", "a grant has `groups`, `subjects` or both")
        return self


class AccessSection(Frozen):
    """Who may use `coterie serve`, and for what; nobody by default."""

    public_url: Origin | None = None
    """The address at which people reach it; redirects, origins and cookies follow it."""
    proxies: tuple[NetworkText, ...] = ()
    """The networks of reverse proxies whose `X-Forwarded-For` counts."""
    oidc: OidcSection | None = None
    """How people sign in. Default: the one-time link of the local user."""
    grants: tuple[GrantSection, ...] = ()
    """Roles by group and team; what no grant gives is refused."""
    tokens: str = Field(default=".coterie/tokens.json", min_length=1, max_length=500)
    """The file with the digests of the tokens of `coterie tokens`, relative to this file."""
    slack: SlackSection | None = None
    """How people decide and talk in Slack."""
    session_keys_env: VariableName | None = None
    """The NAME of the environment variable with the keys of sessions, shared by all gateways: the
    first encrypts, all decrypt. Default: a file of this project."""
