"""The application that answers A2A clients. Imports the SDK."""

from a2a.server.request_handlers.response_helpers import agent_card_to_dict
from a2a.server.routes import create_jsonrpc_routes, create_rest_routes
from a2a.utils.constants import AGENT_CARD_WELL_KNOWN_PATH
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from coterie.documents.catalog import Catalog
from coterie.documents.trusted_catalog import trusted_catalog
from coterie.dsl.errors import InvalidDocument
from coterie.failures import CommandError
from coterie.gateway.doors.a2a.agent_cards import card_of, offered_team
from coterie.gateway.doors.a2a.call_scope import TeamCallBuilder, decoded_team, team_url
from coterie.gateway.doors.a2a.door_errors import register_errors
from coterie.gateway.doors.a2a.request_handler import TaskHandler
from coterie.gateway.endpoints import error_response, identity_of
from coterie.gateway.identity.access_settings import load_access
from coterie.gateway.identity.identity import Identity
from coterie.gateway.operations.error_reports import SIGNED_OUT, Rejection, failed_request
from coterie.gateway.operations.permissions import Allowed, may
from coterie.gateway.operations.run_access import RunAccess
from coterie.gateway.operations.run_permissions import require
from coterie.gateway.operations.run_starts import TEAM_READERS
from coterie.gateway.streams.stream_hub import StreamHub
from coterie.worker.surroundings import web_access_of

PATH = "/a2a"
_TEAM = f"{PATH}/{{team}}"
_PRIVATE = {"Cache-Control": "no-store"}


def a2a_application(access: RunAccess, hub: StreamHub) -> Starlette:
    """Return what answers verified clients: both bindings, and the cards."""
    register_errors()
    section = load_access(access.settings)
    issuer = None if section.oidc is None else section.oidc.issuer
    trusted = trusted_catalog(access.settings, Catalog(access.settings), None)
    web = web_access_of(trusted)
    cards = _Cards(access, section.public_url, issuer, pushes=bool(web.push_hosts))
    handler = TaskHandler(access, hub, issuer, web)
    builder = TeamCallBuilder(section.public_url)
    rest = create_rest_routes(handler, builder, path_prefix=_TEAM)
    routes: list[BaseRoute] = [
        Route(PATH, cards.agents),
        Route(AGENT_CARD_WELL_KNOWN_PATH, cards.only_card),
        Route(f"{_TEAM}{AGENT_CARD_WELL_KNOWN_PATH}", cards.card),
        *create_jsonrpc_routes(handler, _TEAM, builder),
        *(route for route in rest if isinstance(route, Route)),  # no tenants: a team has a path
    ]
    return Starlette(routes=routes)


class _Cards:
    """The cards of the teams that an identity may see or start."""

    def __init__(
        self, access: RunAccess, public_url: str | None, issuer: str | None, *, pushes: bool
    ) -> None:
        self._pushes = pushes
        self._access = access
        self._public_url = public_url
        self._issuer = issuer

    async def agents(self, request: Request) -> Response:
        """List the teams, with the addresses of their cards."""
        identity = identity_of(request)
        if identity is None:
            return error_response(SIGNED_OUT)
        names = await self._names(identity)
        agents = [
            {"name": name, "card": f"{self._url(request, name)}{AGENT_CARD_WELL_KNOWN_PATH}"}
            for name in names
        ]
        return JSONResponse({"agents": agents}, headers=_PRIVATE)

    async def card(self, request: Request) -> Response:
        """Return the card of a team."""
        return await self._answer(request, decoded_team(request))

    async def only_card(self, request: Request) -> Response:
        """Return the card of the only team that an identity sees."""
        identity = identity_of(request)
        names = [] if identity is None else await self._names(identity)
        if len(names) == 1:
            return await self._answer(request, names[0])
        text = f"this gateway offers {len(names) or 'no'} agents"
        refused = Rejection(404, "unknown_path", text, f"GET {PATH} lists their cards.")
        return error_response(failed_request(refused))

    async def _answer(self, request: Request, name: str) -> Response:
        identity = identity_of(request)
        if identity is None:
            return error_response(SIGNED_OUT)
        try:
            require(may(identity, TEAM_READERS, name))
            team = await offered_team(self._access, name, identity)
        except (CommandError, InvalidDocument) as error:
            return error_response(failed_request(error))
        card = card_of(team, self._url(request, name), self._issuer, pushes=self._pushes)
        return JSONResponse(agent_card_to_dict(card), headers=_PRIVATE)

    async def _names(self, identity: Identity) -> list[str]:
        names = [team.name for team in await self._access.teams.own()]
        return [name for name in names if isinstance(may(identity, TEAM_READERS, name), Allowed)]

    def _url(self, request: Request, name: str) -> str:
        return team_url(request, name, self._public_url)
