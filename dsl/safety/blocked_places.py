"""Find paths that leave their folder, and addresses that are none of the web's."""

import re
from urllib.parse import unquote_to_bytes, urlsplit

from coterie.dsl.safety.blocked_rules import Blocked, cut

_PARTS = re.compile(rb"[/\\]")
_OVERLONG = (b"\xc0\xae", b"\xe0\x80\xae", b"\xc0\x2e")
"""Forbidden encodings of a dot in UTF-8, which lenient decoders accept."""
_SLASHES = (b"\xc0\xaf", b"\xe0\x80\xaf", b"\xc1\x9c")

_NEVER_IN_URLS = re.compile(r"[\s\x00-\x1f\\]")


def blocked_path(text: str) -> Blocked | None:
    """Return why a path is blocked, also in its encoded forms; None for a harmless one."""
    form = text.encode(errors="surrogatepass")
    for _ in range(3):
        if b"\0" in form:
            return Blocked("null", cut(text.replace("\0", "?")))
        if _leaves(form):
            return Blocked("traversal", cut(text))
        form = unquote_to_bytes(form)
    return None


def _leaves(form: bytes) -> bool:
    for dot in _OVERLONG:
        form = form.replace(dot, b".")
    for slash in _SLASHES:
        form = form.replace(slash, b"/")
    return any(part.strip(b" ") == b".." for part in _PARTS.split(form))


def blocked_url(text: str) -> Blocked | None:
    """Return why an address is blocked; None for one of the web."""
    if _NEVER_IN_URLS.search(text):
        return Blocked("whitespace", cut(text))
    try:
        parts = urlsplit(text)
        host = parts.hostname
    except ValueError:
        return Blocked("scheme", cut(text))
    if parts.scheme.lower() not in ("http", "https") or not host:
        return Blocked("scheme", cut(text))
    if "@" in parts.netloc:
        return Blocked("credentials", cut(f"{parts.scheme}://...@{host}"))
    return None
