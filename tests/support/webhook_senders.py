"""Senders of webhooks, each with the headers that the real one sends."""

import base64
import hmac
import json
import time
from collections.abc import Callable
from datetime import UTC, datetime
from functools import cache

from standardwebhooks import Webhook

SECRET = "whsec_" + base64.b64encode(b"a secret of thirty-two characters").decode()
OTHER = "whsec_" + base64.b64encode(b"another one, after the rotation").decode()

Headers = dict[str, str]
Sign = Callable[[bytes, str, str, float], Headers]
"""Returns the headers for a body, an id, a secret and a time."""

_JSON = {"content-type": "application/json"}


def standard(body: bytes, id: str = "msg_1", secret: str = SECRET, at: float = 0) -> Headers:
    """The headers of a sender that uses the reference library of Standard Webhooks."""
    moment = datetime.fromtimestamp(at or time.time(), UTC)
    signature = Webhook(secret).sign(id, moment, body.decode())
    times = {"webhook-id": id, "webhook-timestamp": str(int(moment.timestamp()))}
    return {**_JSON, **times, "webhook-signature": signature}


def github(body: bytes, id: str = "d-1", secret: str = SECRET, at: float = 0) -> Headers:
    """The headers of GitHub; it signs no time."""
    digest = hmac.new(secret.encode(), body, "sha256").hexdigest()
    event = {"x-github-event": "pull_request", "x-github-delivery": id}
    return {**_JSON, **event, "x-hub-signature-256": f"sha256={digest}"}


@cache
def _stripe_signature() -> Callable[[str, str], str]:
    from stripe import WebhookSignature  # takes a third of a second

    return WebhookSignature._compute_signature  # pyright: ignore[reportPrivateUsage]


def stripe(body: bytes, id: str = "", secret: str = SECRET, at: float = 0) -> Headers:
    """The headers of Stripe, signed by its own library; the id stands in the payload."""
    now = int(at or time.time())
    signature = _stripe_signature()(f"{now}.{body.decode()}", secret)
    return {**_JSON, "stripe-signature": f"t={now},v1={signature},v0=00"}


def plain(body: bytes, id: str = "", secret: str = SECRET, at: float = 0) -> Headers:
    """The headers of a sender that writes the HMAC of the body as base64."""
    digest = hmac.digest(secret.encode(), body, "sha256")
    return {**_JSON, "x-shop-hmac": base64.b64encode(digest).decode()}


def payload(**values: object) -> bytes:
    """A body."""
    return json.dumps(values).encode()
