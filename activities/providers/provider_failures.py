"""Failures of model calls: what went wrong, and whether and when to retry.

Pure: knows no SDK and opens no connection, so the registry may import it cheaply. The messages for
HTTP responses are in `http_statuses.py`, those for broken connections in `transport.py`.
"""

import random
import re
from dataclasses import dataclass, field
from datetime import timedelta
from urllib.parse import urlsplit

from temporalio.exceptions import ApplicationError

from coterie.activities.contracts import FailureType, TokenUsage
from coterie.activities.providers.provider import ProviderSettings
from coterie.activities.proxies import proxy_of
from coterie.dsl.model.vendors.vendors import VENDORS
from coterie.dsl.values import Json

MAX_DELAY = timedelta(minutes=15)
"""The longest wait before a retry, whatever a server asks for: a run must not hang for a day."""

_MAX_QUOTE_LENGTH = 300
_KEY_LIKE = re.compile(r"\bsk-[A-Za-z0-9*_.-]{4,}")


class ProviderFailure(Exception):
    """A provider gave no answer.

    `kind` is one of the `FailureType` constants. `retry_after` is in seconds, and only set if the
    server asked for it. `usage` is what the server counted before the failure.
    """

    def __init__(
        self,
        kind: str,
        message: str,
        *,
        retryable: bool,
        retry_after: float | None = None,
        usage: TokenUsage | None = None,
    ) -> None:
        self.kind = kind
        self.message = message
        self.retryable = retryable
        self.retry_after = retry_after
        self.usage = usage
        super().__init__(message)


def to_application_error(failure: ProviderFailure, *details: Json) -> ApplicationError:
    """Convert the failure to Temporal's: its type, whether to retry, and when."""
    delay = None
    if failure.retryable and failure.retry_after is not None:
        delay = timedelta(seconds=_spread(min(failure.retry_after, MAX_DELAY.total_seconds())))
    return ApplicationError(
        failure.message,
        *details,
        type=failure.kind,
        non_retryable=not failure.retryable,
        next_retry_delay=delay,
    )


def _spread(seconds: float) -> float:
    """Add up to a tenth: many callers get the same delay at once, and none may come early."""
    return random.uniform(seconds, seconds * 1.1)


@dataclass(frozen=True, slots=True)
class Endpoint:
    """The server to call: address and key for the client, names for messages."""

    provider: str
    base_url: str = field(repr=False)
    """As configured; it may contain a password, so messages use `address`."""
    key_env: str
    """The environment variable that holds the key, for messages."""
    key: str | None = field(default=None, repr=False)

    @classmethod
    def of(cls, settings: ProviderSettings, default_url: str | None = None) -> "Endpoint":
        """Build the endpoint from a provider's settings.

        Official servers need a key; a cloud, and a server at its own `api_base`, may not.

        Args:
            settings: Of a vendor's kind.
            default_url: Without an `api_base`. Default: the vendor's.

        Raises:
            ProviderFailure: The key is missing or malformed, or the URL is unusable.
        """
        if settings.missing_env is not None:
            raise missing_key(settings.missing_env)
        vendor = VENDORS[settings.kind]
        env = settings.api_key_env or vendor.key_env
        is_needed = bool(settings.api_key_env) or (
            settings.api_base is None and settings.cloud is None
        )
        key = _usable_key(settings.api_key, env, is_needed=is_needed)
        url = settings.api_base or default_url or vendor.url
        if not _is_http(url):
            raise ProviderFailure(
                FailureType.PROVIDER_REFUSED,
                f"api_base of provider {settings.name!r} is not a URL: it must read like "
                "https://host/path",
                retryable=False,
            )
        return cls(settings.name, url, env, key)

    @property
    def address(self) -> str:
        """The base URL without user, password and query."""
        parts = urlsplit(self.base_url)
        return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"

    def quote(self, words: str) -> str:
        """Quote a server's message: on one line, shortened, without anything like a key."""
        text = " ".join(words.split())
        if text.startswith("<"):
            return "an HTML page"
        if self.key:
            text = text.replace(self.key, "***")
        text = _KEY_LIKE.sub("***", text)
        return text if len(text) <= _MAX_QUOTE_LENGTH else text[: _MAX_QUOTE_LENGTH - 1] + "…"


def _usable_key(value: str | None, env: str, *, is_needed: bool) -> str | None:
    key = (value or "").strip() or None
    if key is None and is_needed:
        raise missing_key(env)
    if key is not None and not (key.isascii() and key.isprintable() and " " not in key):
        raise ProviderFailure(
            FailureType.MISSING_SECRET,
            f"{env} on the worker is not an API key: it contains blanks or invalid "
            "characters; export only the key",
            retryable=False,
        )
    return key


def missing_key(env: str) -> ProviderFailure:
    """Build the failure for a missing API key."""
    return ProviderFailure(
        FailureType.MISSING_SECRET,
        f"{env} is not set on the worker: export it, or choose another provider with --model",
        retryable=False,
    )


def unreachable(endpoint: Endpoint, reason: str) -> ProviderFailure:
    """Build the failure for a connection that could not be opened."""
    proxy = proxy_of(endpoint.base_url)
    through = f" through the proxy {proxy}" if proxy else ""
    fix = (
        "check that proxy and api_base, or name the host in NO_PROXY"
        if proxy
        else "check the network and api_base"
    )
    return _unavailable(
        f"could not reach {endpoint.provider} at {endpoint.address}{through} "
        f"({endpoint.quote(reason)}); {fix}"
    )


def disconnected(endpoint: Endpoint, reason: str) -> ProviderFailure:
    """Build the failure for a connection that ended before the answer did."""
    return _unavailable(
        f"{endpoint.provider} closed the connection before its answer was complete "
        f"({endpoint.quote(reason)}); if this repeats, check the proxies in front of "
        f"{endpoint.address}"
    )


def stalled(endpoint: Endpoint, seconds: float) -> ProviderFailure:
    """Build the failure for a call that timed out."""
    return _unavailable(
        f"{endpoint.provider} did not complete its answer within {seconds:g} s; raise "
        "`timeout`, or ask for less"
    )


def malformed(endpoint: Endpoint, reason: str) -> ProviderFailure:
    """Build the failure for a malformed answer: a gateway's page, a partial body, another API."""
    return _unavailable(
        f"{endpoint.provider} sent an answer that does not match its API "
        f"({endpoint.quote(reason)}); check api_base {endpoint.address}"
    )


def unreadable(endpoint: Endpoint, reason: str, usage: TokenUsage | None = None) -> ProviderFailure:
    """Build the failure for a whole answer in a form that is unknown here: paid, and no outage."""
    return ProviderFailure(
        FailureType.ANSWER_UNREADABLE,
        f"{endpoint.provider} sent an answer in a form that Coterie does not know "
        f"({endpoint.quote(reason)}); check api_base {endpoint.address} and `api`, or choose "
        "another model",
        retryable=False,
        usage=usage,
    )


def cut(endpoint: Endpoint, usage: TokenUsage | None = None) -> ProviderFailure:
    """Build the failure for an answer without a stop reason: it may be partial, so discard it."""
    return _unavailable(
        f"{endpoint.provider} ended its answer without a stop reason, so it may be cut off; if "
        f"this repeats, check the proxies in front of {endpoint.address}",
        usage,
    )


def _unavailable(message: str, usage: TokenUsage | None = None) -> ProviderFailure:
    return ProviderFailure(FailureType.PROVIDER_UNAVAILABLE, message, retryable=True, usage=usage)


def _is_http(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False
