"""The card of a team: what it is for, where it listens, how to sign in, what it needs."""

from dataclasses import dataclass

from a2a.types import (
    AgentCapabilities,
    AgentCard,
    AgentExtension,
    AgentInterface,
    AgentSkill,
    HTTPAuthSecurityScheme,
    OpenIdConnectSecurityScheme,
    SecurityRequirement,
    SecurityScheme,
    StringList,
)
from google.protobuf.json_format import ParseDict
from google.protobuf.struct_pb2 import Struct
from pydantic import JsonValue

from coterie.dsl.exact_numbers import is_exact
from coterie.dsl.model.plan import Plan
from coterie.dsl.model.traversal.step_paths import message_wait_paths
from coterie.dsl.values import Json
from coterie.gateway.doors.a2a.task_messages import JSON, TEXT
from coterie.gateway.identity.identity import Identity
from coterie.gateway.operations.run_access import RunAccess
from coterie.gateway.operations.run_starts import unknown_team
from coterie.mcp_server.served_teams import arguments_schema, result_schema, team_description
from coterie.version import own_version

BINDINGS = ("JSONRPC", "HTTP+JSON")
VERSION = "1.0"
SCHEMAS = "urn:coterie:schemas"
"""The extension of the extended card with the JSON Schemas of the inputs and the result."""


@dataclass(frozen=True, slots=True)
class OfferedTeam:
    """A team as an agent for others."""

    name: str
    description: str
    inputs: Json
    """JSON Schema of the context with which it starts."""
    result: Json
    """JSON Schema of what is known of its result."""
    plan: Plan

    @property
    def is_session(self) -> bool:
        """Whether it waits for messages."""
        return bool(message_wait_paths(self.plan))


async def offered_team(access: RunAccess, name: str, identity: Identity) -> OfferedTeam:
    """Return a team as a start by its name starts it.

    Raises:
        Rejection: There is no such team.
        CommandError: It cannot be compiled here, or the server does not answer.
        InvalidDocument: Its document has problems.
    """
    named = await access.teams.find(name)
    if named is None:
        raise unknown_team(await access.teams.names(), name, identity)
    plan = named.compiled.plan
    return OfferedTeam(
        name=name,
        description=team_description(named.compiled, name),
        inputs=arguments_schema(plan),
        result=result_schema(plan),
        plan=plan,
    )


def card_of(team: OfferedTeam, url: str, issuer: str | None, *, pushes: bool) -> AgentCard:
    """Return the card of a team.

    Args:
        team: The team.
        url: Where it listens, for both bindings.
        issuer: The OIDC provider whose tokens count, if there is one.
        pushes: Whether the worker sends push notifications.
    """
    schemes = {
        "token": SecurityScheme(
            http_auth_security_scheme=HTTPAuthSecurityScheme(
                scheme="Bearer", description="A token of `coterie tokens`, or of the provider."
            )
        )
    }
    if issuer is not None:
        schemes["provider"] = SecurityScheme(
            open_id_connect_security_scheme=OpenIdConnectSecurityScheme(
                open_id_connect_url=f"{issuer.rstrip('/')}/.well-known/openid-configuration"
            )
        )
    return AgentCard(
        name=team.name,
        description=team.description,
        version=own_version(),
        supported_interfaces=[
            AgentInterface(url=url, protocol_binding=binding, protocol_version=VERSION)
            for binding in BINDINGS
        ],
        capabilities=AgentCapabilities(
            streaming=True, push_notifications=pushes, extended_agent_card=True
        ),
        security_schemes=schemes,
        security_requirements=[
            SecurityRequirement(schemes={name: StringList()}) for name in schemes
        ],
        default_input_modes=[TEXT, JSON],
        default_output_modes=[TEXT, JSON],
        skills=[
            AgentSkill(
                id=team.name,
                name=team.name,
                description=team.description,
                tags=["conversation" if team.is_session else "team"],
            )
        ],
    )


def extended_card_of(team: OfferedTeam, url: str, issuer: str | None, *, pushes: bool) -> AgentCard:
    """Return the card with the schemas of the team's inputs and result."""
    card = card_of(team, url, issuer, pushes=pushes)
    schemas: dict[str, JsonValue] = {"inputs": team.inputs, "result": team.result}
    if is_exact(schemas):
        card.capabilities.extensions.append(
            AgentExtension(
                uri=SCHEMAS,
                description="JSON Schemas of the inputs of the team and of its result.",
                params=ParseDict(schemas, Struct()),
            )
        )
    return card
