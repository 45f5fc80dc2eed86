"""What MCP clients learn of the provider, and which of its access tokens count at `/mcp`."""

import httpx2
import pytest
from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from coterie.dsl.model.sections.access_document import AccessSection
from coterie.dsl.values import Json
from coterie.gateway.identity.access_rules import identity_of_access_token, scopes_in
from coterie.gateway.identity.protected_resource import (
    METADATA_PATH,
    ProtectedResource,
    ResourceLayer,
    protected_resource,
)
from coterie.gateway.identity.sign_in_failures import SignInFailure
from tests.unit.gateway.identity.conftest import ACCESS, OIDC, PUBLIC, Gateway

RESOURCE = f"{PUBLIC}/mcp"
NOTHING: set[str] = set()
SCOPED = OIDC.model_copy(update={"scope_prefix": "coterie."})


def roles(claims: Json, scoped: bool = False) -> set[str]:
    ends: Json = {"sub": "7", "exp": 2, **claims}
    identity = identity_of_access_token(ends, ACCESS, SCOPED if scoped else OIDC, for_resource=True)
    return {f"{grant.role} {grant.teams}" for grant in identity.grants}


@pytest.mark.parametrize(
    ("claims", "granted"),
    [
        ({}, {"viewer *"}),
        ({"groups": ["leads"]}, {"viewer *", "approver pay_*"}),
        ({"sub": "bot", "client_id": "bot"}, {"starter *"}),
        ({"email": "bot"}, {"viewer *"}),
        ({"email": "bot", "email_verified": True}, {"viewer *", "starter *"}),
    ],
)
def test_a_person_has_the_roles_of_their_sign_in_and_a_program_its_own(
    claims: Json, granted: set[str]
) -> None:
    assert roles(claims) == granted


@pytest.mark.parametrize(
    ("claims", "granted"),
    [
        ({"groups": ["leads"]}, NOTHING),
        ({"groups": ["leads"], "scope": "openid coterie.viewer"}, {"viewer *"}),
        ({"groups": ["leads"], "scp": ["coterie.approver"]}, {"approver pay_*"}),
        ({"scope": "coterie.admin coterie.starter viewer"}, NOTHING),
        ({"scope": 3}, NOTHING),
    ],
)
def test_scopes_narrow_roles_and_grant_none(claims: Json, granted: set[str]) -> None:
    assert roles(claims, scoped=True) == granted


def test_a_person_decides_nothing_by_an_app_and_has_no_second_name() -> None:
    claims: Json = {"sub": "7", "exp": 2, "email": "ann@x", "email_verified": True}
    identity = identity_of_access_token(claims, ACCESS, OIDC, for_resource=True)
    assert (identity.approver, identity.method, identity.name) == ("", "client", "ann@x")


def test_scopes_are_texts_or_lists() -> None:
    assert scopes_in({"scope": "a  b"}) == scopes_in({"scp": ["a", 3, "b"]}) == {"a", "b"}
    assert scopes_in({}) == frozenset()


@pytest.mark.parametrize(
    ("path", "audience", "counts"),
    [
        ("/mcp", RESOURCE, True),
        ("/mcp", [RESOURCE, "x"], True),
        ("/mcp", OIDC.audience, True),
        ("/mcp", OIDC.client_id, False),
        ("/mcp", f"{PUBLIC}/mcp/", False),
        ("/v1/runs", RESOURCE, False),
        ("/mcp/", RESOURCE, False),
    ],
)
async def test_a_token_for_the_resource_counts_there_alone(
    gateway: Gateway, path: str, audience: str | list[str], counts: bool
) -> None:
    token = gateway.provider.token(
        "at+jwt", sub="7", aud=[*audience] if isinstance(audience, list) else audience
    )
    headers = Headers({"authorization": f"Bearer {token}"})
    if counts:
        admission = await gateway.gate.admit("POST", path, headers, "203.0.113.7")
        assert admission.identity is not None
        assert admission.identity.subject == "7"
    else:
        with pytest.raises(SignInFailure, match="unknown"):
            await gateway.gate.admit("POST", path, headers, "203.0.113.7")


@pytest.mark.parametrize("problem", [{"exp": 1}, {"iss": "https://other"}, {"sub": None}])
async def test_a_token_that_has_ended_or_is_of_another_issuer_does_not_count(
    gateway: Gateway, problem: Json
) -> None:
    token = gateway.provider.token("at+jwt", **{"sub": "7", "aud": RESOURCE, **problem})
    headers = Headers({"authorization": f"Bearer {token}"})
    with pytest.raises(SignInFailure, match="unknown"):
        await gateway.gate.admit("POST", "/mcp", headers, "203.0.113.7")


async def answering(request: Request) -> Response:
    return JSONResponse({}, int(request.query_params["status"]))


async def asked(path: str, method: str = "GET", token: str = "") -> httpx2.Response:
    resource = ProtectedResource(PUBLIC, "https://login.example.com", ("coterie.viewer",))
    routes = [Route(where, answering) for where in ("/mcp", "/v1/runs")]
    app = ResourceLayer(Starlette(routes=routes), resource)
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    async with httpx2.AsyncClient(transport=httpx2.ASGITransport(app), base_url=PUBLIC) as http:
        return await http.request(method, path, headers=headers)


async def test_a_refusal_leads_to_the_metadata_and_names_what_a_token_lacks() -> None:
    metadata = f'resource_metadata="{PUBLIC}{METADATA_PATH}"'
    first = (await asked("/mcp?status=401")).headers["www-authenticate"]
    assert first == f'Bearer scope="coterie.viewer", {metadata}'
    old = (await asked("/mcp?status=401", token="x")).headers["www-authenticate"]
    assert old.startswith('Bearer error="invalid_token", ')
    weak = (await asked("/mcp?status=403", token="x")).headers["www-authenticate"]
    assert weak.startswith('Bearer error="insufficient_scope", scope="coterie.viewer"')
    assert "www-authenticate" not in (await asked("/mcp?status=200")).headers
    assert "www-authenticate" not in (await asked("/v1/runs?status=401")).headers


async def test_the_metadata_names_the_resource_and_its_issuer() -> None:
    answer = await asked(METADATA_PATH)
    assert answer.json() == {
        "resource": RESOURCE,
        "authorization_servers": ["https://login.example.com"],
        "scopes_supported": ["coterie.viewer"],
        "bearer_methods_supported": ["header"],
        "resource_name": "Coterie",
    }
    assert (await asked(METADATA_PATH, "POST")).status_code == 404


def test_there_is_no_resource_without_a_provider_and_scopes_only_on_request() -> None:
    assert protected_resource(AccessSection()) is None
    plain = protected_resource(ACCESS)
    assert plain is not None
    assert "scopes_supported" not in plain.metadata()
    scoped = protected_resource(ACCESS.model_copy(update={"oidc": SCOPED}))
    assert scoped is not None
    assert "coterie.admin" in scoped.scopes
