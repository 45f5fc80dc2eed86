"""Sign-in at a provider: the code flow, renewal, logout, programs, and what is refused."""

import asyncio
from collections.abc import Callable

import httpx2
import pytest

from coterie.dsl.values import Json, JsonValue
from coterie.gateway.identity.oidc_provider import OidcProvider
from coterie.gateway.identity.sign_in_failures import SignInFailure
from tests.support.servers.oidc_provider import (
    BACK_CHANNEL_EVENT,
    CLIENT,
    ISSUER,
    Provider,
    made_key,
)
from tests.unit.gateway.identity.conftest import OIDC, PUBLIC, Gateway


async def test_a_person_gets_the_roles_of_their_groups(gateway: Gateway) -> None:
    gateway.provider.claims |= {"groups": ["leads", "staff"], "name": "Ann"}
    gateway.provider.claims |= {"email": "ann@example.com", "email_verified": True}
    done = await gateway.sign_in("/runs/7?x=1")
    assert (done.status_code, done.headers["location"]) == (303, "/runs/7?x=1")
    shown = (await gateway.who()).json()
    assert shown["subject"] == "7"
    assert shown["approver"] == "ann@example.com"
    assert shown["name"] == "Ann"
    assert shown["groups"] == ["leads"]
    assert {(grant["role"], grant["teams"]) for grant in shown["grants"]} == {
        ("viewer", "*"),
        ("approver", "pay_*"),
    }


async def test_cookies_are_bound_to_the_host_and_unreadable(gateway: Gateway) -> None:
    done = await gateway.sign_in()
    cookies = done.headers.get_list("set-cookie")
    assert [one.partition("=")[0] for one in cookies[:2]] == [
        "__Host-coterie",
        "__Host-coterie-renewal",
    ]
    for cookie in cookies:
        assert "; Path=/; Secure; HttpOnly; SameSite=Lax" in cookie
        assert "Domain" not in cookie
    assert "refresh" not in str(cookies).replace("renewal", "")


async def test_groups_and_email_may_come_from_userinfo_of_the_same_person(
    gateway: Gateway,
) -> None:
    more: Json = {"groups": ["leads"], "email": "ann@example.com", "email_verified": True}
    gateway.provider.userinfo = {"sub": "8", **more}
    await gateway.sign_in()
    assert (await gateway.who()).json()["approver"] == "7"
    gateway.provider.userinfo = {"sub": "7", **more}
    await gateway.sign_in()
    assert (await gateway.who()).json()["approver"] == "ann@example.com"


async def test_each_tab_has_a_sign_in_of_its_own_and_old_ones_are_dropped(
    gateway: Gateway,
) -> None:
    addresses = [
        (await gateway.browser.get("/sign-in", params={"to": f"/{tab}"})).headers["location"]
        for tab in range(10)
    ]
    ends: list[int] = []
    for address in reversed(addresses):
        query = gateway.provider.sign_in(address)
        done = await gateway.browser.get("/sign-in/callback", params=query)
        ends.append(done.status_code)
    assert ends == [303] * 8 + [403] * 2


async def test_a_callback_counts_once_and_in_the_browser_that_began(gateway: Gateway) -> None:
    begun = await gateway.browser.get("/sign-in")
    query = gateway.provider.sign_in(begun.headers["location"])
    cookies = gateway.browser.cookies.jar._cookies.copy()  # pyright: ignore
    gateway.browser.cookies.clear()
    stranger = await gateway.browser.get("/sign-in/callback", params=query)
    assert (stranger.status_code, stranger.json()["code"]) == (403, "old_sign_in")
    gateway.browser.cookies.jar._cookies.update(cookies)  # pyright: ignore
    for changed in ({"state": "x"}, {"iss": "https://evil.example"}, {"error": "access_denied"}):
        refused = await gateway.browser.get("/sign-in/callback", params={**query, **changed})
        assert refused.status_code in (403, 502)
    assert (await gateway.browser.get("/sign-in/callback", params=query)).status_code == 303
    again = await gateway.browser.get("/sign-in/callback", params=query)
    assert again.json()["code"] == "old_sign_in"


async def test_a_sign_in_that_takes_too_long_begins_again(gateway: Gateway) -> None:
    begun = await gateway.browser.get("/sign-in")
    query = gateway.provider.sign_in(begun.headers["location"])
    gateway.provider.now += 601
    refused = await gateway.browser.get("/sign-in/callback", params=query)
    assert refused.json()["code"] == "old_sign_in"


@pytest.mark.parametrize(
    ("claims", "problem"),
    [
        ({"iss": "https://other.example.com"}, "iss"),
        ({"aud": "another"}, "aud"),
        ({"aud": [CLIENT, "another"]}, "azp"),
        ({"azp": "another"}, "azp"),
        ({"exp": 1_000_000 - 61}, "exp"),
        ({"exp": None}, "exp"),
        ({"iat": 1_000_000 + 61}, "iat"),
        ({"nbf": 1_000_000 + 61}, "nbf"),
        ({"nonce": "another"}, "nonce"),
        ({"nonce": None}, "nonce"),
        ({"sub": None}, "sub"),
        ({"sub": "x" * 300}, "sub"),
    ],
)
async def test_an_id_token_with_a_wrong_claim_signs_nobody_in(
    gateway: Gateway, claims: Json, problem: str
) -> None:
    gateway.provider.claims |= claims
    refused = await gateway.sign_in()
    assert refused.status_code == 502
    assert f"an id_token whose {problem} does not fit" in refused.json()["message"]
    assert (await gateway.who()).status_code == 401


async def test_clocks_may_differ_a_little(gateway: Gateway) -> None:
    gateway.provider.claims |= {"exp": 1_000_000 - 59, "iat": 1_000_000 + 59}
    assert (await gateway.sign_in()).status_code == 303


async def test_a_session_is_renewed_and_follows_what_the_provider_says(gateway: Gateway) -> None:
    gateway.provider.claims["groups"] = ["leads"]
    await gateway.sign_in()
    first = (await gateway.who()).json()
    gateway.provider.claims["groups"] = []
    gateway.provider.now += 901
    renewed = await gateway.who()
    assert renewed.json()["groups"] == []
    assert renewed.json()["expires"] == first["expires"] + 901
    assert "__Host-coterie=" in str(renewed.headers.get_list("set-cookie"))
    gateway.provider.now += 901
    assert (await gateway.who()).status_code == 200, "the renewed refresh token was kept"
    gateway.provider.refuses_renewal = True
    gateway.provider.now += 901
    ended = await gateway.who()
    assert ended.status_code == 401
    assert all("Max-Age=0" in cookie for cookie in ended.headers.get_list("set-cookie"))


async def test_requests_at_once_share_one_renewal(gateway: Gateway) -> None:
    await gateway.sign_in()
    gateway.provider.now += 901
    asked = len(gateway.provider.asked)
    answers = await asyncio.gather(*(gateway.who() for _ in range(6)))
    assert [answer.status_code for answer in answers] == [200] * 6
    assert gateway.provider.asked[asked:].count("/token") == 1


async def test_no_renewal_outlasts_half_a_day_or_changes_the_person(gateway: Gateway) -> None:
    await gateway.sign_in()
    gateway.provider.claims["sub"] = "8"
    gateway.provider.now += 901
    assert (await gateway.who()).status_code == 401
    gateway.provider.claims["sub"] = "7"
    await gateway.sign_in()
    for _ in range(48):
        gateway.provider.now += 899
        await gateway.who()
    gateway.provider.now += 60
    assert (await gateway.who()).status_code == 401


async def test_a_provider_that_is_away_ends_no_session(gateway: Gateway) -> None:
    await gateway.sign_in()
    gateway.provider.now += 901
    gateway.provider.is_away = True
    away = await gateway.who()
    assert (away.status_code, away.json()["code"]) == (503, "provider_unreachable")
    assert "set-cookie" not in away.headers
    gateway.provider.is_away = False
    assert (await gateway.who()).status_code == 200


async def test_a_provider_that_is_away_is_not_asked_for_each_request(gateway: Gateway) -> None:
    gateway.provider.is_away = True
    for _ in range(5):
        assert (await gateway.browser.get("/sign-in")).status_code == 503
    assert len(gateway.provider.asked) == 1
    gateway.provider.is_away = False
    gateway.provider.now += 5
    assert (await gateway.browser.get("/sign-in")).status_code == 303


async def test_keys_are_rotated_while_people_work(gateway: Gateway) -> None:
    provider = gateway.provider
    await gateway.sign_in()
    provider.keys = [made_key("k2"), *provider.keys]
    provider.now += 901
    assert (await gateway.who()).status_code == 200
    provider.keys = [made_key("k3")]
    provider.now += 901
    assert (await gateway.who()).status_code == 200


async def test_a_withdrawn_key_counts_for_ten_minutes_at_most(gateway: Gateway) -> None:
    provider = gateway.provider
    bearer = {
        "Authorization": f"Bearer {provider.token(sub='bot', client_id='bot', aud=OIDC.audience)}"
    }
    assert (await gateway.browser.get("/who", headers=bearer)).status_code == 200
    provider.keys = [made_key("k2")]
    provider.now += 601
    assert (await gateway.browser.get("/who", headers=bearer)).status_code == 401


async def test_forged_tokens_do_not_become_requests_to_the_provider(gateway: Gateway) -> None:
    forger = Provider(keys=[made_key("unknown")])
    token = forger.token(sub="bot", client_id="bot", aud=OIDC.audience)
    for _ in range(9):
        answer = await gateway.browser.get("/who", headers={"Authorization": f"Bearer {token}"})
        assert answer.status_code == 401
    assert gateway.provider.asked.count("/keys") == 1
    gateway.provider.now += 11
    await gateway.browser.get("/who", headers={"Authorization": f"Bearer {token}"})
    assert gateway.provider.asked.count("/keys") == 2


async def test_sign_out_drops_the_session_revokes_its_renewal_and_goes_on(
    gateway: Gateway,
) -> None:
    await gateway.sign_in()
    own = {"Sec-Fetch-Site": "same-origin"}
    out = await gateway.browser.post("/sign-out", headers=own)
    assert out.headers["refresh"].startswith(f"0; url={ISSUER}/end?client_id=coterie&post_logout")
    assert gateway.provider.revoked == ["refresh-2"]
    assert (await gateway.who()).status_code == 401


Change = Callable[[Json], JsonValue]


@pytest.mark.parametrize(
    ("claims", "type", "accepted"),
    [
        ({"sid": "s1"}, "logout+jwt", True),
        ({"sub": "7"}, "logout+jwt", True),
        ({"sub": "7", "sid": "another"}, "logout+jwt", None),
        ({"sid": "s1", "nonce": "n"}, "logout+jwt", False),
        ({"sid": "s1", "events": {}}, "logout+jwt", False),
        ({"sid": "s1", "aud": "another"}, "logout+jwt", False),
        ({"sid": "s1", "iss": "https://evil.example"}, "logout+jwt", False),
        ({"sid": "s1", "iat": 1_000_000 - 700}, "logout+jwt", False),
        ({"sid": "s1"}, "at+jwt", False),
        ({}, "logout+jwt", False),
    ],
)
async def test_the_provider_ends_sessions(
    gateway: Gateway, claims: Json, type: str, accepted: bool | None
) -> None:
    """None: the token is valid, and names another session."""
    await gateway.sign_in()
    given: Json = {"aud": CLIENT, "jti": "1", "events": {BACK_CHANNEL_EVENT: {}}, **claims}
    token = gateway.provider.token(type, **given)
    ended = await gateway.browser.post("/sign-in/ended-at-provider", data={"logout_token": token})
    assert ended.status_code == (400 if accepted is False else 200)
    assert (await gateway.who()).status_code == (401 if accepted else 200)
    gateway.provider.now += 1
    await gateway.sign_in()
    assert (await gateway.who()).status_code == 200, "a new sign-in counts"


@pytest.mark.parametrize(
    ("claims", "type", "status", "approver"),
    [
        ({"sub": "bot", "client_id": "bot"}, "at+jwt", 200, "program bot"),
        ({"sub": "7", "client_id": "bot", "groups": ["leads"]}, "JWT", 200, ""),
        ({"sub": "bot", "client_id": "bot", "aud": "another"}, "at+jwt", 401, ""),
        ({"sub": "bot", "client_id": "bot", "exp": 1}, "at+jwt", 401, ""),
        ({"sub": "bot", "nonce": "n"}, "JWT", 401, ""),
        ({"sub": "bot"}, "logout+jwt", 401, ""),
    ],
)
async def test_a_program_shows_an_access_token_for_us(
    gateway: Gateway, claims: Json, type: str, status: int, approver: str
) -> None:
    token = gateway.provider.token(type, **{"aud": OIDC.audience, **claims})
    answer = await gateway.browser.get("/who", headers={"Authorization": f"Bearer {token}"})
    assert answer.status_code == status
    if status == 200:
        assert answer.json()["method"] == "client"
        assert answer.json()["approver"] == approver


@pytest.mark.parametrize(
    ("metadata", "problem"),
    [
        ({"issuer": "https://evil.example"}, "names another issuer"),
        ({"token_endpoint": "http://169.254.169.254/token"}, "no https address as token_endpoint"),
        ({"jwks_uri": "http://127.0.0.1:1/keys"}, "no https address as jwks_uri"),
        ({"userinfo_endpoint": "file:///etc/passwd"}, "no https address as userinfo_endpoint"),
        ({"end_session_endpoint": "https://u:p@x/"}, "no https address as end_session_endpoint"),
        ({"token_endpoint": None}, "lacks token_endpoint"),
    ],
)
async def test_discovery_names_only_safe_addresses_of_this_issuer(
    metadata: Json, problem: str
) -> None:
    provider = Provider(metadata=metadata)
    client = OidcProvider(OIDC, None, transport=provider.transport)
    with pytest.raises(SignInFailure, match=problem):
        await client.metadata()
    await client.close()


@pytest.mark.parametrize("answer", ["redirect", "large", "text", "deep"])
async def test_answers_of_a_provider_are_bounded(answer: str) -> None:
    content = {"large": b"x" * 1_100_000, "text": b"<html>", "deep": b"[" * 5000}

    def respond(request: httpx2.Request) -> httpx2.Response:
        assert request.url.host == "login.example.com"
        if answer == "redirect":
            return httpx2.Response(302, headers={"location": "http://169.254.169.254/"})
        return httpx2.Response(200, content=content[answer])

    client = OidcProvider(OIDC, None, transport=httpx2.MockTransport(respond))
    with pytest.raises(SignInFailure):
        await client.metadata()
    await client.close()


async def test_sign_in_goes_nowhere_else_afterwards(gateway: Gateway) -> None:
    assert (await gateway.sign_in("https://evil.example")).headers["location"] == "/"
    begun = await gateway.browser.get("/sign-in", params={"to": "//evil.example"})
    assert begun.headers["location"] == "/", "who has a session continues at once"
    assert PUBLIC.startswith("https")


async def test_links_of_other_sites_to_the_callback_lock_nobody_out(gateway: Gateway) -> None:
    for _ in range(25):
        answer = await gateway.browser.get("/sign-in/callback", params={"state": "x", "code": "y"})
        assert answer.json()["code"] == "old_sign_in"
    assert (await gateway.sign_in()).status_code == 303
