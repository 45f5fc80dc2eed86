"""Whether a request comes from Slack, and was sent just now. Pure."""

import hmac
import re
from hashlib import sha256
from typing import Final

from starlette.datastructures import Headers

MAX_SKEW: Final = 300
"""Seconds that a request may be old, or ahead of our clock."""
_TIME: Final = re.compile(r"[0-9]{1,12}", re.ASCII)
_SIGNATURE: Final = re.compile(r"v0=[0-9a-f]{64}", re.ASCII)


def is_from_slack(secret: str, headers: Headers, body: bytes, now: float) -> bool:
    """Return whether the signature is that of the body, and its time is near.

    Whatever else the headers hold, such as letters in the time, is a request of somebody else.

    Args:
        secret: The signing secret of the app.
        headers: Of the request.
        body: As it was sent, before anything reads it.
        now: Seconds since the epoch.
    """
    times = headers.getlist("x-slack-request-timestamp")
    signatures = headers.getlist("x-slack-signature")
    if len(times) != 1 or len(signatures) != 1:
        return False
    sent_at, signature = times[0], signatures[0]
    if _TIME.fullmatch(sent_at) is None or _SIGNATURE.fullmatch(signature) is None:
        return False
    if abs(now - int(sent_at)) > MAX_SKEW:
        return False
    return hmac.compare_digest(signature_of(secret, sent_at, body), signature)


def signature_of(secret: str, sent_at: str, body: bytes) -> str:
    """Return the signature of a body that was sent at a time."""
    content = b"v0:" + sent_at.encode() + b":" + body
    return f"v0={hmac.new(secret.encode(), content, sha256).hexdigest()}"
