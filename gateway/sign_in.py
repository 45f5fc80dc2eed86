"""How a gateway knows who sends a request, and which routes sign people in."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from starlette.requests import Request
from starlette.routing import BaseRoute

from coterie.gateway.identity.access_settings import load_access, tokens_file
from coterie.gateway.identity.identity import Identity
from coterie.gateway.identity.program_tokens import TokenFile
from coterie.gateway.request_gate import Authenticate
from coterie.settings import Settings


@dataclass(frozen=True, slots=True)
class SignIn:
    """What a gateway needs of identities."""

    authenticate: Authenticate
    routes: Sequence[BaseRoute] = ()
    link: Callable[[str], str] = str
    """Returns where a person begins, from the address of the gateway."""


def token_sign_in(settings: Settings) -> SignIn:
    """Return the sign-in of programs, by the tokens of `coterie tokens`.

    Raises:
        InvalidDocument: `access` in `coterie.yml` has problems.
    """
    tokens = TokenFile(tokens_file(load_access(settings), settings))

    async def authenticate(request: Request) -> Identity | None:
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        if scheme.lower() != "bearer":
            return None
        return tokens.identity(token.strip(), time.time())

    return SignIn(authenticate)
