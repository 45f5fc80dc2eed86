"""Addresses to which secrets may be sent, and that of Slack's API."""

from urllib.parse import urlsplit

from coterie.dsl.values import form_mismatch

SLACK_API = "https://slack.com/api"
_LOOPBACK = ("localhost", "127.0.0.1", "::1")


def is_safe_url(url: str, *, loopback: bool = True) -> bool:
    """Return whether secrets may be sent to an address: https, or http to this machine.

    Args:
        url: The address.
        loopback: Whether http to this machine counts.
    """
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname or "", parts.port
    except ValueError:
        return False
    if not host or parts.username is not None or parts.password is not None:
        return False
    if any(character.isspace() or not character.isprintable() for character in url):
        return False
    return parts.scheme == "https" or (loopback and parts.scheme == "http" and is_loopback(host))


def is_loopback(host: str) -> bool:
    """Return whether a host is this machine."""
    return host in _LOOPBACK or host.endswith(".localhost")


def slack_api(text: str) -> str:
    """Return the address of Slack's API; raise if it is not one."""
    if not is_safe_url(text) or urlsplit(text).query or urlsplit(text).fragment:
        raise form_mismatch("api", "an https address such as https://slack.com/api")
    return text.rstrip("/")
