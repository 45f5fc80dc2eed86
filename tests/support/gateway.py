"""A gateway in the process of a test, and identities that only tests have."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import httpx2
from starlette.requests import Request

from coterie.gateway.app import application
from coterie.gateway.console.console_routes import console_routes
from coterie.gateway.doors.agui.agui_door import agui_routes
from coterie.gateway.identity.identity import Grant, Identity, Role
from coterie.gateway.operations.run_access import RunAccess
from coterie.server.connection import open_connection
from coterie.settings import Settings

WHO = "x-test-identity"


def person(name: str, *roles: Role, teams: str = "*") -> Identity:
    """A person who signed in."""
    return Identity(
        subject=name,
        method="oidc",
        approver=name,
        grants=tuple(Grant(role=role, teams=teams) for role in roles),
    )


async def by_header(request: Request) -> Identity | None:
    """The identity that a test sends as JSON."""
    text = request.headers.get(WHO)
    return None if text is None else Identity.model_validate_json(text)


def client_of(app: object, identity: Identity | None = None) -> httpx2.AsyncClient:
    """A client of an application, in the name of an identity."""
    return httpx2.AsyncClient(
        transport=httpx2.ASGITransport(app=app),  # pyright: ignore
        base_url="http://gateway.test",
        headers={} if identity is None else {WHO: identity.model_dump_json()},
        timeout=60,
    )


@asynccontextmanager
async def gateway(settings: Settings) -> AsyncGenerator[object]:
    """The application over a project's server."""
    access = RunAccess(settings, await open_connection(settings))
    yield application(access, by_header, (*agui_routes(access), *console_routes(access)))


ALL = person("local", *Role)
"""Who may do everything."""


async def begun(app: object, team: str, **context: object) -> str:
    async with client_of(app, ALL) as http:
        answer = await http.post("/v1/runs", json={"team": team, "context": context})
        assert answer.status_code == 200, answer.text
        return answer.json()["run"]


async def described(app: object, run: str, state: str) -> dict[str, Any]:
    async with client_of(app, ALL) as http, asyncio.timeout(60):
        while True:
            answer = await http.get(f"/v1/runs/{run}")
            if answer.status_code == 200 and answer.json()["state"] == state:
                return answer.json()
            await asyncio.sleep(0.1)  # until the worker has got so far


async def waiting(app: object, run: str) -> dict[str, Any]:
    async with client_of(app, ALL) as http, asyncio.timeout(60):
        while True:
            answer = await http.get("/v1/requests", params={"run": run})
            assert answer.status_code in (200, 503), answer.text
            if answer.json().get("requests"):
                return answer.json()["requests"][0]
            await asyncio.sleep(0.1)  # until the worker has begun, and the run asks


async def finished(app: object, bulk: str) -> dict[str, dict[str, Any]]:
    """What came of a bulk action, by run."""
    async with client_of(app, ALL) as http, asyncio.timeout(60):
        while True:
            report = (await http.get(f"/v1/bulk/{bulk}")).json()
            if report["is_finished"]:
                return {outcome["run"]: outcome for outcome in report["outcomes"]}
            await asyncio.sleep(0.1)  # until the worker has acted on the last one
