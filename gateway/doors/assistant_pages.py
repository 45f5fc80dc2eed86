"""What coding assistants look for at a server, public and constant: `llms.txt`, the card."""

import asyncio
from functools import lru_cache
from typing import Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from coterie.evals.language_card import language_card
from coterie.gateway.identity.protected_resource import RESOURCE_PATH

_CARD_PATH: Final = "/language-card.md"
_LLMS: Final = f"""\
# Coterie

> Teams of LLM agents in YAML, run as durable Temporal workflows. This server shows, starts and
> steers the runs of one project.

- [Language card]({_CARD_PATH}): the whole language on a few pages; read it before you write a team
- [MCP]({RESOURCE_PATH}): tools that start teams, explain runs, and check what you write
- [OpenAPI](/v1/openapi.json): the same runs as REST, with a token
"""
_HEADERS: Final = {"Cache-Control": "max-age=300", "X-Content-Type-Options": "nosniff"}


def assistant_routes() -> list[Route]:
    """Return the routes of the pages."""
    return [Route("/llms.txt", _llms), Route(_CARD_PATH, _card)]


async def _llms(_: Request) -> Response:
    return Response(_LLMS, headers=_HEADERS, media_type="text/plain")


async def _card(_: Request) -> Response:
    card = await asyncio.to_thread(_cached_card)  # which takes a second at first
    return Response(card, headers=_HEADERS, media_type="text/markdown")


@lru_cache(maxsize=1)
def _cached_card() -> str:
    return language_card()
