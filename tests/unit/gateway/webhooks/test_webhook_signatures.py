"""Signatures by the senders' own libraries count; anything else is refused and never raises."""

import hmac

import pytest
from hypothesis import given, strategies
from starlette.datastructures import Headers

from coterie.dsl.model.sections.webhook_trigger import HmacTerms, WebhookScheme, WebhookSection
from coterie.gateway.doors.webhooks.webhook_signatures import UnusableSecret, proof_of
from tests.support.webhook_senders import (
    OTHER,
    SECRET,
    Sign,
    github,
    payload,
    plain,
    standard,
    stripe,
)

BODY = payload(id="evt_1", text="schöne Grüße")
SENDERS: dict[WebhookScheme, Sign] = {
    "standard-webhooks": standard,
    "github": github,
    "stripe": stripe,
    "hmac": plain,
}
AT = 1_700_000_000.0
SIGNATURE_HEADERS = (
    *("webhook-id", "webhook-timestamp", "webhook-signature", "x-hub-signature-256"),
    *("x-github-delivery", "stripe-signature", "x-shop-hmac"),
)


def section(verify: WebhookScheme) -> WebhookSection:
    terms = HmacTerms(header="X-Shop-Hmac", encoding="base64") if verify == "hmac" else None
    return WebhookSection(verify=verify, secret_env="SECRET", hmac=terms)


@pytest.mark.parametrize("verify", SENDERS)
def test_the_signature_of_a_real_sender_counts(verify: WebhookScheme) -> None:
    headers = SENDERS[verify](BODY, "msg_7", SECRET, AT)
    proof = proof_of(section(verify), Headers(headers), BODY, [OTHER, SECRET])
    assert proof is not None
    assert proof.time == (AT if verify in ("standard-webhooks", "stripe") else None)
    if verify in ("standard-webhooks", "github"):
        assert proof.id == "msg_7"


def test_a_sender_with_the_headers_of_svix_counts_and_both_kinds_are_never_mixed() -> None:
    terms, standard_headers = section("standard-webhooks"), standard(BODY, "msg_7", SECRET, AT)
    svix = {name.replace("webhook-", "svix-"): text for name, text in standard_headers.items()}
    assert proof_of(terms, Headers(svix), BODY, [SECRET]) == ("msg_7", AT)
    for name in svix:
        if name.startswith("svix-"):
            mixed = {**svix, name.replace("svix-", "webhook-"): svix[name]}
            del mixed[name]
            assert proof_of(terms, Headers(mixed), BODY, [SECRET]) is None


@pytest.mark.parametrize("verify", SENDERS)
def test_another_body_or_secret_does_not_count(verify: WebhookScheme) -> None:
    headers = Headers(SENDERS[verify](BODY, "msg_7", SECRET, AT))
    assert proof_of(section(verify), headers, BODY + b" ", [SECRET]) is None
    assert proof_of(section(verify), headers, BODY, [OTHER]) is None
    assert proof_of(section(verify), Headers({}), BODY, [SECRET]) is None


@pytest.mark.parametrize(("header", "value"), [("webhook-id", "msg_8"), ("webhook-timestamp", "1")])
def test_a_changed_id_or_time_does_not_count(header: str, value: str) -> None:
    headers = {**standard(BODY, "msg_7", SECRET, AT), header: value}
    assert proof_of(section("standard-webhooks"), Headers(headers), BODY, [SECRET]) is None


def test_the_time_of_stripe_is_signed() -> None:
    signed = stripe(BODY, "", SECRET, AT)["stripe-signature"]
    later = {"stripe-signature": signed.replace("t=1700000000", "t=1700000001")}
    assert proof_of(section("stripe"), Headers(later), BODY, [SECRET]) is None


def test_one_of_several_signatures_is_enough() -> None:
    one = standard(BODY, "msg_7", OTHER, AT)
    two = standard(BODY, "msg_7", SECRET, AT)
    both = f"{one['webhook-signature']} {two['webhook-signature']}"
    headers = Headers({**two, "webhook-signature": both})
    assert proof_of(section("standard-webhooks"), headers, BODY, [SECRET]) is not None


def test_a_header_that_is_there_twice_does_not_count() -> None:
    name, value = b"x-hub-signature-256", github(BODY)["x-hub-signature-256"].encode()
    headers = Headers(raw=[(name, value), (name, value), (b"x-github-delivery", b"d-1")])
    assert proof_of(section("github"), headers, BODY, [SECRET]) is None


def test_the_vector_of_github_s_documentation_counts() -> None:
    digest = "757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17"
    headers = Headers({"x-hub-signature-256": f"sha256={digest}", "x-github-delivery": "d-1"})
    secret = "It's a Secret to Everybody"
    assert proof_of(section("github"), headers, b"Hello, World!", [secret]) is not None


def test_hexadecimal_sha512_behind_a_prefix_counts() -> None:
    terms = HmacTerms(header="x-a", algorithm="sha512", prefix="sha512=")
    hook = WebhookSection(verify="hmac", secret_env="A", hmac=terms)
    digest = hmac.new(b"key", BODY, "sha512").hexdigest()
    assert proof_of(hook, Headers({"x-a": f"sha512={digest}"}), BODY, ["key"]) is not None
    assert proof_of(hook, Headers({"x-a": digest}), BODY, ["key"]) is None


def test_a_secret_that_is_not_base64_is_named_and_never_used() -> None:
    headers = Headers(standard(BODY))
    with pytest.raises(UnusableSecret):
        proof_of(section("standard-webhooks"), headers, BODY, ["whsec_"])


GARBAGE = strategies.one_of(
    strategies.binary(max_size=80),
    strategies.sampled_from(
        [b"v1," + b"A" * 44, b"t=nan,v1=00", b"sha256=\xff\xfe", b"t=1,t=2,v1=00", b"v1,==== v1,"]
    ),
)


@given(strategies.lists(strategies.tuples(strategies.sampled_from(SIGNATURE_HEADERS), GARBAGE)))
def test_garbage_is_refused_and_raises_nothing(pairs: list[tuple[str, bytes]]) -> None:
    headers = Headers(raw=[(name.encode(), value) for name, value in pairs])
    for verify in SENDERS:
        assert proof_of(section(verify), headers, BODY, [SECRET]) is None
