"""How a gateway knows who sends a request, and which routes sign people in."""

from collections.abc import Sequence
from dataclasses import dataclass

from starlette.routing import BaseRoute
from starlette.types import ASGIApp

from coterie.gateway.identity.access_settings import load_access
from coterie.gateway.identity.protected_resource import ResourceLayer
from coterie.gateway.identity.sign_in_gate import SignInGate
from coterie.gateway.identity.sign_in_routes import SignInLayer, authenticate, sign_in_routes
from coterie.gateway.identity.sign_in_setup import sign_in_gate
from coterie.gateway.request_gate import Authenticate
from coterie.settings import Settings


@dataclass(frozen=True, slots=True)
class SignIn:
    """What a gateway needs of identities."""

    gate: SignInGate
    routes: Sequence[BaseRoute]
    authenticate: Authenticate = authenticate
    """Returns who sends a request that came through `around`."""

    def around(self, app: ASGIApp) -> ASGIApp:
        """Return an application that verifies each request before the given one gets it."""
        verified = SignInLayer(app, self.gate)
        resource = self.gate.resource
        return verified if resource is None else ResourceLayer(verified, resource)

    def link(self) -> str:
        """Return where a person begins: a link that works once, or the public address."""
        origin = self.gate.origins[0]
        return origin if self.gate.local is None else self.gate.local.link(origin)

    async def close(self) -> None:
        """Close the connections to the provider."""
        if self.gate.provider is not None:
            await self.gate.provider.close()


def sign_in_of(settings: Settings, port: int) -> SignIn:
    """Return the sign-in of a gateway at a port, as `access` in `coterie.yml` says.

    Raises:
        CommandError: A variable or a file that it names is missing or unusable.
        InvalidDocument: `access` has problems.
    """
    gate = sign_in_gate(settings, load_access(settings), port)
    return SignIn(gate, sign_in_routes(gate))
