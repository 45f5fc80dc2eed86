"""Prove who sent a delivery: the signatures of Standard Webhooks, GitHub, Stripe and plain HMAC.

Anyone may send anything here: nothing of a request raises, and every comparison takes the same time
whatever it compares.
"""

import base64
import binascii
import hmac
import re
from collections.abc import Iterable, Sequence
from hashlib import sha256
from typing import Final, NamedTuple, assert_never

from starlette.datastructures import Headers

from coterie.dsl.model.sections.webhook_trigger import HmacTerms, WebhookSection

_SVIX: Final = "svix"
"""How headers of Standard Webhooks begin at senders that use Svix."""
_WHSEC: Final = "whsec_"
_TIME = re.compile(r"[0-9]{1,11}\Z", re.ASCII)
_MAX_SIGNATURES: Final = 20
_MAX_ID: Final = 1_000


class UnusableSecret(ValueError):
    """A secret of the gateway is not what the scheme needs."""


class Signed(NamedTuple):
    """What a valid signature covers, beside the body."""

    id: str
    """As the sender names the event; empty where the payload names it."""
    time: float | None


def proof_of(
    section: WebhookSection, headers: Headers, body: bytes, secrets: Sequence[str]
) -> Signed | None:
    """Return what a valid signature covers; None if the request has none.

    Args:
        section: The webhook.
        headers: Of the request.
        body: As received.
        secrets: Each of them counts.

    Raises:
        UnusableSecret: A secret is not what the scheme needs.
    """
    match section.verify:
        case "standard-webhooks":
            return _standard(headers, body, secrets)
        case "github":
            return _github(headers, body, secrets)
        case "stripe":
            return _stripe(headers, body, secrets)
        case "hmac":
            assert section.hmac is not None
            return _plain(section.hmac, headers, body, secrets)
        case _:
            assert_never(section.verify)


def _standard(headers: Headers, body: bytes, secrets: Sequence[str]) -> Signed | None:
    prefix = _SVIX if "webhook-id" not in headers and f"{_SVIX}-id" in headers else "webhook"
    id, time = _one(headers, f"{prefix}-id"), _one(headers, f"{prefix}-timestamp")
    if not 0 < len(id) <= _MAX_ID or not _TIME.match(time):
        return None
    signed = b".".join((id.encode("latin-1"), time.encode(), body))
    written = (part.partition(",") for part in _one(headers, f"{prefix}-signature").split(" "))
    given = [_from_base64(text) for version, _, text in written if version == "v1"]
    wanted = [_digest(_standard_key(secret), signed) for secret in secrets]
    return Signed(id, float(time)) if _any_equal(given, wanted) else None


def _standard_key(secret: str) -> bytes:
    key = _from_base64(secret.removeprefix(_WHSEC))
    if not key:
        raise UnusableSecret("a secret of Standard Webhooks is base64, after `whsec_`")
    return key


def _github(headers: Headers, body: bytes, secrets: Sequence[str]) -> Signed | None:
    prefix, _, text = _one(headers, "x-hub-signature-256").partition("=")
    given = [_from_hex(text)] if prefix == "sha256" else []
    if not _any_equal(given, [_digest(secret.encode(), body) for secret in secrets]):
        return None
    id = _one(headers, "x-github-delivery")
    return Signed(id, None) if 0 < len(id) <= _MAX_ID else None


def _stripe(headers: Headers, body: bytes, secrets: Sequence[str]) -> Signed | None:
    parts = [part.partition("=") for part in _one(headers, "stripe-signature").split(",")]
    times = [text for key, _, text in parts if key.strip() == "t"]
    if len(times) != 1 or not _TIME.match(times[0]):
        return None
    given = [_from_hex(text) for key, _, text in parts if key.strip() == "v1"]
    signed = times[0].encode() + b"." + body
    wanted = [_digest(secret.encode(), signed) for secret in secrets]
    return Signed("", float(times[0])) if _any_equal(given, wanted) else None


def _plain(
    terms: HmacTerms, headers: Headers, body: bytes, secrets: Sequence[str]
) -> Signed | None:
    text = _one(headers, terms.header)
    if not text.startswith(terms.prefix):
        return None
    text = text.removeprefix(terms.prefix)
    given = _from_hex(text) if terms.encoding == "hex" else _from_base64(text)
    wanted = [_digest(secret.encode(), body, terms.algorithm) for secret in secrets]
    if not _any_equal([given], wanted):
        return None
    return Signed(sha256(body).hexdigest(), None)


def _digest(key: bytes, text: bytes, algorithm: str = "sha256") -> bytes:
    return hmac.digest(key, text, algorithm)


def _any_equal(given: Sequence[bytes], wanted: Iterable[bytes]) -> bool:
    """Return whether one of the signatures is right; each is compared with each."""
    found = False
    for right in wanted:
        for signature in given[:_MAX_SIGNATURES]:
            found |= hmac.compare_digest(signature, right)
    return found


def _one(headers: Headers, name: str) -> str:
    """Return the value of a header that is there once; empty otherwise."""
    values = headers.getlist(name)
    return values[0] if len(values) == 1 else ""


def _from_hex(text: str) -> bytes:
    """Return the bytes of a text; none if it is not hexadecimal."""
    try:
        return binascii.unhexlify(text)
    except (binascii.Error, ValueError):
        return b""


def _from_base64(text: str) -> bytes:
    """Return the bytes of a text; none if it is not base64."""
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return b""
