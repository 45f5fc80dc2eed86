"""Which addresses of A2A clients get the states of their tasks. Pure."""

import re
from urllib.parse import urlsplit

from coterie.activities.workspace.web_access import WebAccess
from coterie.dsl.safety.blocked_places import blocked_url
from coterie.dsl.safety.blocked_rules import blocked_text

_PRINTABLE = re.compile(r"[!-~]+")
_PORTS = {"https": 443, "http": 80}


def push_refusal(url: str, access: WebAccess) -> str | None:
    """Return why states are not sent to an address; None if they may be.

    The network is asked only when a message is sent: then each address of the host is checked.
    """
    if _PRINTABLE.fullmatch(url) is None:
        return "the address is empty, or has a character that is not printable ASCII"
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port or _PORTS.get(parts.scheme, 0)
    except ValueError:
        return "the address cannot be read"
    if not host or parts.username is not None or parts.password is not None or parts.fragment:
        return "the address must have a host, and no user, password or fragment"
    is_private = access.may_be_private(host, port)
    if parts.scheme != "https" and not (parts.scheme == "http" and is_private):
        return "the address must begin with https://"
    if not access.may_push_to(host):
        return f"the worker sends no states to {host!r}; `worker.web.push_hosts` names the hosts"
    blocked = None if is_private else blocked_url(url)
    return None if blocked is None else f"the address is blocked: {blocked_text(*blocked)}"
