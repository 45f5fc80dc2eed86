"""People sign in at a certified OIDC provider in a real browser, and programs with its tokens."""

import json
from urllib.parse import urlencode
from urllib.request import Request, urlopen

from playwright.sync_api import Browser, Cookie, Page, expect

from coterie.gateway.identity.identity import Identity
from tests.doors.conftest import AUDIENCE, PATIENCE, Provider, log_in, patient


def sign_in(page: Page, gateway: str, name: str, to: str = "/who") -> Identity:
    """Sign a person in, and return what the gateway says of them."""
    log_in(page, gateway, name, to)
    return Identity.model_validate_json(page.locator("body").inner_text())


def who(page: Page, gateway: str) -> Identity | None:
    response = page.goto(f"{gateway}/who")
    assert response is not None
    return Identity.model_validate_json(response.text()) if response.ok else None


def roles(identity: Identity) -> set[str]:
    return {f"{grant.role} {grant.teams}" for grant in identity.grants}


def cookies(page: Page) -> dict[str, Cookie]:
    return {one.get("name", ""): one for one in page.context.cookies()}


def test_a_person_signs_in_with_the_roles_of_their_groups(page: Page, gateway: str) -> None:
    asked: list[str] = []
    page.on("response", lambda response: asked.append(response.url))
    ann = sign_in(page, gateway, "ann")
    assert ann.approver == "ann@example.com"
    assert roles(ann) == {"viewer *", "approver pay_*"}
    (begun,) = [url for url in asked if "/auth?" in url][:1]
    assert "code_challenge_method=S256" in begun
    assert "nonce=" in begun
    session = cookies(page)["__Host-coterie"]
    assert (session.get("secure"), session.get("httpOnly"), session.get("sameSite")) == (
        True,
        True,
        "Lax",
    )
    assert not [name for name in cookies(page) if name.startswith("__Host-coterie-signin-")]


def test_two_people_are_two_identities(browser: Browser, gateway: str) -> None:
    found: list[object] = []
    for name in ("ben", "carl"):
        context = patient(browser.new_context())
        identity = sign_in(context.new_page(), gateway, name)
        found.append((identity.approver, roles(identity)))
        context.close()
    assert found == [
        ("ben@example.com", {"viewer *", "approver pay_*"}),
        ("carl@example.com", {"viewer *"}),
    ]


def test_a_sign_in_in_each_of_two_tabs_ends_where_it_began(page: Page, gateway: str) -> None:
    other = page.context.new_page()
    page.goto(f"{gateway}/sign-in?to=/who%3Ftab=1")
    other.goto(f"{gateway}/sign-in?to=/who%3Ftab=2")
    for tab, number in ((page, 1), (other, 2)):
        if tab.locator("input[name=login]").count():
            tab.fill("input[name=login]", "ann")
            tab.fill("input[name=password]", "any")
            tab.click("button[type=submit]")
        if tab.get_by_role("button", name="Continue").count():
            tab.get_by_role("button", name="Continue").click()
        expect(tab).to_have_url(f"{gateway}/who?tab={number}")


def test_a_session_is_renewed_while_the_provider_rotates_its_keys(
    page: Page, gateway: str, provider: Provider
) -> None:
    sign_in(page, gateway, "ann")
    before = cookies(page)
    for keys in ("k2,k1", "k3"):
        provider.control(f"keys={keys}")
        provider.pass_time(901)
        assert who(page, gateway) is not None, keys
    after = cookies(page)
    for name in ("__Host-coterie", "__Host-coterie-renewal"):
        assert after[name].get("value") != before[name].get("value")


def test_requests_at_once_after_the_life_of_a_session_are_all_renewed(
    page: Page, gateway: str, provider: Provider
) -> None:
    sign_in(page, gateway, "ann")
    provider.pass_time(901)
    fetched = "Promise.all([1,2,3,4,5].map(() => fetch('/who').then((answer) => answer.status)))"
    assert page.evaluate(fetched) == [200] * 5
    assert who(page, gateway) is not None, "its refresh token was used once"


def test_the_clocks_may_differ_by_a_minute_and_no_more(
    page: Page, gateway: str, provider: Provider
) -> None:
    provider.control(f"skew={provider.skew + 45}")
    assert sign_in(page, gateway, "ann").subject == "ann"
    page.context.clear_cookies(name="__Host-coterie")
    provider.control(f"skew={provider.skew + 100}")
    answers: list[int] = []
    page.on("response", lambda response: answers.append(response.status))
    page.goto(f"{gateway}/sign-in?to=/who")
    expect(page.locator("body")).to_contain_text("an id_token whose iat does not fit")
    assert 502 in answers
    provider.control(f"skew={provider.skew}")


def test_sign_out_ends_the_session_here_and_at_the_provider(page: Page, gateway: str) -> None:
    sign_in(page, gateway, "ann")
    page.goto(f"{gateway}/leave")
    page.click("button")
    page.get_by_role("button", name="Yes, sign me out").click()
    expect(page).to_have_url(f"{gateway}/signed-out")
    assert who(page, gateway) is None
    page.goto(f"{gateway}/sign-in?to=/who")
    expect(page.locator("input[name=login]")).to_be_visible()


def test_a_sign_out_at_the_provider_alone_ends_the_session_here(
    page: Page, gateway: str, provider: Provider
) -> None:
    sign_in(page, gateway, "ann")
    page.goto(f"{provider.issuer}/session/end")
    page.get_by_role("button", name="Yes, sign me out").click()
    expect(page.locator("body")).to_contain_text("Sign-out Success")
    assert who(page, gateway) is None


def test_a_program_shows_an_access_token_of_the_provider(gateway: str, provider: Provider) -> None:
    form = {
        "grant_type": "client_credentials",
        "client_id": "nightly",
        "client_secret": "another secret",
        "resource": AUDIENCE,
    }
    with urlopen(f"{provider.issuer}/token", urlencode(form).encode(), timeout=PATIENCE) as answer:
        token = json.load(answer)["access_token"]
    request = Request(f"{gateway}/who", headers={"Authorization": f"Bearer {token}"})
    with urlopen(request, timeout=PATIENCE) as answer:
        identity = Identity.model_validate_json(answer.read())
    assert (identity.method, identity.approver) == ("client", "program nightly")
    assert roles(identity) == {"starter *"}
