"""What the door knows of a call beside its parameters: which team, and who asks."""

from dataclasses import dataclass
from urllib.parse import quote, unquote

from a2a.server.context import ServerCallContext
from a2a.server.routes.common import DefaultServerCallContextBuilder
from starlette.requests import Request

from coterie.gateway.endpoints import identity_of
from coterie.gateway.identity.identity import Identity

_CALL = "coterie_call"


@dataclass(frozen=True, slots=True)
class TeamCall:
    """A call of a method of one team."""

    team: str
    identity: Identity
    url: str
    """The address of the team at this door, as the client reaches it."""
    is_rest: bool
    """Whether ids come from a path, where they are quoted."""

    def id(self, text: str) -> str:
        """Return an id as it is."""
        return unquote(text) if self.is_rest else text


class TeamCallBuilder(DefaultServerCallContextBuilder):
    """Makes the context of a call from its request."""

    def __init__(self, public_url: str | None) -> None:
        """Take the address of the gateway, if it is configured."""
        self._public_url = public_url

    def build(self, request: Request) -> ServerCallContext:
        """Return the context, with the team and the verified identity."""
        context = super().build(request)
        identity = identity_of(request)
        assert identity is not None, "the door lets nobody in without one"
        team = decoded_team(request)
        context.state[_CALL] = TeamCall(
            team,
            identity,
            team_url(request, team, self._public_url),
            is_rest="id" in request.path_params,
        )
        return context


def decoded_team(request: Request) -> str:
    """Return the name of the team in the path of a request."""
    return unquote(request.path_params["team"])


def team_url(request: Request, team: str, public_url: str | None) -> str:
    """Return the address of a team at this door, as the client reaches it."""
    base = public_url or str(request.base_url)
    return f"{base.rstrip('/')}/a2a/{quote(team, safe='')}"


def call_of(context: ServerCallContext) -> TeamCall:
    """Return the call of a context."""
    call = context.state[_CALL]
    assert isinstance(call, TeamCall)
    return call
