"""The one-time link of the local user, and what every gateway refuses."""

import logging
from pathlib import Path

import httpx2
import pytest

from coterie.failures import CommandError
from coterie.gateway.identity.access_settings import load_access
from coterie.gateway.identity.identity import Role
from coterie.gateway.identity.local_sign_in import local_host, project_keys
from coterie.gateway.identity.program_tokens import create_token
from coterie.gateway.identity.session_cookies import cookies_in, local_session
from coterie.gateway.identity.sign_in_setup import sign_in_gate
from coterie.settings import load
from tests.unit.gateway.identity.conftest import Gateway, browser_of

OWN = {"Sec-Fetch-Site": "same-origin"}


def code_of(local: Gateway) -> str:
    assert local.gate.local is not None
    return local.gate.local.link(local.gate.origins[0]).partition("#")[2]


async def use(local: Gateway, code: str, to: str = "/runs") -> httpx2.Response:
    form = {"code": code, "to": to}
    return await local.browser.post("/sign-in/code", data=form, headers=OWN)


def session_of(response: httpx2.Response) -> dict[str, str]:
    """The header with the session: the test's client sends no `Secure` cookie over http."""
    (first, *_) = response.headers.get_list("set-cookie")
    return {"Cookie": first.partition(";")[0]}


async def test_a_link_signs_the_local_user_in_once_with_all_roles(local: Gateway) -> None:
    code = code_of(local)
    done = await use(local, code)
    assert (done.status_code, done.headers["location"]) == (303, "/runs")
    shown = (await local.browser.get("/who", headers=session_of(done))).json()
    assert (shown["subject"], shown["approver"]) == ("local user ann", "local user ann")
    assert {grant["role"] for grant in shown["grants"]} == set(Role)
    again = await use(local, code)
    assert (again.status_code, again.json()["code"]) == (403, "old_link")
    assert again.json()["message"] == "this link was used or is old"


async def test_a_link_is_old_after_ten_minutes(local: Gateway) -> None:
    code = code_of(local)
    local.provider.now += 600
    assert (await use(local, code)).json()["code"] == "old_link"


async def test_the_page_of_a_link_has_a_form_and_leads_only_to_us(local: Gateway) -> None:
    page = await local.browser.get("/open", params={"to": '//evil"><script>'})
    assert 'name="to" value="/"' in page.text
    assert "default-src 'none'" in page.headers["content-security-policy"]
    assert page.headers["cache-control"] == "no-store"
    assert (await use(local, code_of(local), "https://evil.example")).headers["location"] == "/"


async def test_a_local_session_lasts_while_it_is_used(local: Gateway) -> None:
    session = session_of(await use(local, code_of(local)))
    for _ in range(20):
        local.provider.now += 3 * 3600
        answer = await local.browser.get("/who", headers=session)
        assert answer.status_code == 200
        session = session_of(answer)
    local.provider.now += 13 * 3600
    assert (await local.browser.get("/who", headers=session)).status_code == 401


async def test_sign_out_needs_our_own_page_and_drops_the_session(local: Gateway) -> None:
    session = session_of(await use(local, code_of(local)))
    foreign = {**session, "Sec-Fetch-Site": "same-site"}
    refused = await local.browser.post("/sign-out", headers=foreign)
    assert (refused.status_code, refused.json()["code"]) == (403, "other_origin")
    done = await local.browser.post("/sign-out", headers={**session, **OWN})
    assert "__Host-coterie=; Max-Age=0" in done.headers["set-cookie"]


@pytest.mark.parametrize("host", ["evil.example", "localhost:8080", "127.0.0.1", ""])
async def test_a_name_that_is_not_ours_is_misdirected(local: Gateway, host: str) -> None:
    refused = await local.browser.get("/who", headers={"Host": host})
    assert (refused.status_code, refused.json()["code"]) == (421, "other_host")


async def test_the_other_address_of_this_machine_is_ours_too(local: Gateway) -> None:
    answer = await local.browser.get("/who", headers={"Host": "127.0.0.1:8080"})
    assert answer.status_code == 401


async def test_a_token_needs_neither_origin_nor_host_and_cookies_do_not_count_beside_it(
    local: Gateway, tmp_path: Path
) -> None:
    now = local.provider.now
    token = create_token(tmp_path / "tokens.json", "ci", ["starter"], [], now, 60)
    bearer = {"Authorization": f"Bearer {token}", "Host": "coterie.internal"}
    done = await local.browser.post("/act", headers=bearer)
    assert (done.status_code, done.json()["subject"]) == (200, "ci")
    session = session_of(await use(local, code_of(local)))
    wrong = {**session, **OWN, "Authorization": "Bearer coterie_wrong"}
    refused = await local.browser.post("/act", headers=wrong)
    assert (refused.status_code, refused.json()["code"]) == (401, "token_invalid")
    assert refused.headers["www-authenticate"] == 'Bearer error="invalid_token"'
    of_proxy = {**session, **OWN, "Authorization": "Basic dXNlcjpwYXNz"}
    assert (await local.browser.post("/act", headers=of_proxy)).status_code == 200


async def test_failed_sign_ins_of_an_address_are_limited_and_its_valid_tokens_are_not(
    local: Gateway, tmp_path: Path
) -> None:
    for _ in range(20):
        assert (await use(local, "wrong")).status_code == 403
    limited = await use(local, code_of(local))
    assert (limited.status_code, limited.headers["retry-after"]) == (429, "600")
    wrong = {"Authorization": "Bearer coterie_wrong"}
    assert (await local.browser.get("/who", headers=wrong)).status_code == 429
    token = create_token(tmp_path / "tokens.json", "ci", ["viewer"], [], local.provider.now, 60)
    bearer = {"Authorization": f"Bearer {token}"}
    assert (await local.browser.get("/who", headers=bearer)).status_code == 200
    local.provider.now += 600
    assert (await use(local, code_of(local))).status_code == 303


async def test_an_address_behind_our_proxy_counts_by_itself(local: Gateway) -> None:
    forwarded = {"X-Forwarded-For": "198.51.100.2", "X-Forwarded-Proto": "https"}
    answer = await local.browser.get("/who", headers=forwarded)
    assert answer.json()["address"] == "203.0.113.7", "no proxy is configured"


async def test_a_browser_gets_a_page_and_a_program_json(local: Gateway) -> None:
    headers = {"Host": "evil.example", "Accept": "text/html"}
    page = await local.browser.get("/who", headers=headers)
    assert page.headers["content-type"].startswith("text/html")
    assert "Code: other_host" in page.text
    program = await local.browser.get("/v1/runs", headers=headers)
    assert program.headers["content-type"] == "application/json"


async def test_no_secret_reaches_a_log(
    local: Gateway, gateway: Gateway, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    code = code_of(local)
    session = session_of(await use(local, code))
    await use(local, code)
    token = create_token(tmp_path / "tokens.json", "ci", ["viewer"], [], local.provider.now, 60)
    for shown in (token, "coterie_unknown-token"):
        await local.browser.get("/who", headers={"Authorization": f"Bearer {shown}"})
    await local.browser.get("/who", headers=session)
    await gateway.sign_in()
    gateway.provider.now += 901
    await gateway.who()
    jwt = gateway.provider.token(sub="bot")
    await gateway.browser.get("/who", headers={"Authorization": f"Bearer {jwt}"})
    await gateway.browser.post("/sign-in/ended-at-provider", data={"logout_token": jwt})
    await gateway.browser.post("/sign-out", headers=OWN)
    ours = [
        record.getMessage()
        for record in caplog.records
        if record.name.startswith(("coterie", "httpcore2", "asyncio", "uvicorn"))
    ]
    assert any("a sign-in failed: this link was used or is old" in line for line in ours)
    everything = "\n".join(ours)
    secrets = (code, token, "unknown-token", jwt, "refresh-", "access-secret", "s:e/c")
    sealed = session["Cookie"].partition("=")[2]
    assert [one for one in (*secrets, sealed) if one in everything] == []


def test_a_cookie_that_is_sent_twice_does_not_count() -> None:
    assert cookies_in(["a=1; b=2", "b=3; c"]) == {"a": "1", "c": ""}
    assert cookies_in(["__Host-coterie=x; __Host-coterie=y"]) == {}


def test_a_project_keeps_its_name_and_its_keys(tmp_path: Path) -> None:
    settings = load({}, tmp_path)
    assert local_host(settings) == local_host(settings)
    assert local_host(settings).endswith(".localhost")
    session = local_session("ann", 0)
    sealed = project_keys(settings).seal("session", session)
    assert project_keys(settings).open("session", sealed, type(session)) == session
    for file in ("session_keys", "console_host"):
        assert (tmp_path / ".coterie" / file).stat().st_mode & 0o777 == 0o600


OIDC = "oidc: {issuer: 'https://login.example.com', client_id: c"


@pytest.mark.parametrize(
    ("access", "message"),
    [
        (f"{{{OIDC}}}}}", "needs `access.public_url`"),
        (
            f"{{public_url: 'https://a.example', {OIDC}, client_secret_env: NO_SECRET}}}}",
            "`access.oidc.client_secret_env` names the environment variable NO_SECRET",
        ),
        ("{session_keys_env: NO_KEYS}", "`access.session_keys_env` names the environment"),
        ("{session_keys_env: KEYS}", "the environment variable KEYS has no keys of 32 bytes"),
    ],
)
def test_a_gateway_does_not_start_with_half_of_its_sign_in(
    tmp_path: Path, access: str, message: str
) -> None:
    (tmp_path / "coterie.yml").write_text(f"access: {access}\n")
    settings = load({"KEYS": "c2hvcnQ="}, tmp_path)
    with pytest.raises(CommandError, match=message):
        sign_in_gate(settings, load_access(settings), 8080)


async def test_a_gateway_of_a_project_signs_its_user_in(tmp_path: Path) -> None:
    settings = load({}, tmp_path)
    gate = sign_in_gate(settings, load_access(settings), 8080)
    assert gate.local is not None
    link = gate.local.link(gate.origins[0])
    origin, _, code = link.partition("/open#")
    assert origin == f"http://{local_host(settings)}:8080"
    async with browser_of(gate, origin) as browser:
        done = await browser.post("/sign-in/code", data={"code": code}, headers=OWN)
        assert done.status_code == 303
