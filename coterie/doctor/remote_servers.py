"""Ask the servers that this project needs whether they answer, and for their time."""

import asyncio
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import NamedTuple

from coterie.activities.proxies import DIRECT, proxy_of, trusted
from coterie.documents.worker_trust import TrustedConfig
from coterie.dsl.model.sections.provider_document import ProviderSection, provider_kind

_SECONDS = 5.0
_VENDORS: Mapping[str, str] = {
    "anthropic": "https://api.anthropic.com",
    "openai": "https://api.openai.com",
}


class Contact(NamedTuple):
    """One attempt to reach a host."""

    name: str
    """The provider."""
    address: str
    problem: str | None
    """Why it was not reached; None if it answered, whatever it answered."""
    skew: float | None
    """Seconds by which this clock is ahead of the server's; None if it did not say."""


def addresses(trusted: TrustedConfig, names: Iterable[str]) -> dict[str, str]:
    """Return `{provider: base URL}` of the named providers that are servers.

    Clouds have addresses of their own for each region, and are left out.
    """
    sections = {name: trusted.providers[name] for name in names if name in trusted.providers}
    found = {name: _address(name, section) for name, section in sections.items()}
    return {name: address for name, address in found.items() if address is not None}


def _address(name: str, section: ProviderSection) -> str | None:
    if section.cloud is not None:
        return None
    return section.api_base or _VENDORS.get(provider_kind(name, section))


async def contact_all(providers: Mapping[str, str]) -> list[Contact]:
    """Send one `HEAD` request to each address, without a key, all at once."""
    import httpx2  # slow, and not needed offline

    async def contact(client: httpx2.AsyncClient, name: str, address: str) -> Contact:
        try:
            answer = await client.head(address)
        except (httpx2.HTTPError, httpx2.InvalidURL, ValueError) as error:
            through = f" through the proxy {proxy}" if (proxy := proxy_of(address)) else ""
            reason = str(error) or type(error).__name__
            return Contact(name, address, f"does not answer{through}: {reason}", None)
        return Contact(
            name, address, None, clock_skew(answer.headers.get("date"), datetime.now(UTC))
        )

    async with httpx2.AsyncClient(verify=trusted(), timeout=_SECONDS, mounts=DIRECT) as client:
        return list(await asyncio.gather(*(contact(client, *one) for one in providers.items())))


def clock_skew(date: str | None, now: datetime) -> float | None:
    """Return the seconds by which `now` is ahead of a `Date` header (RFC 9110, 6.6.1)."""
    if date is None:
        return None
    try:
        return (now - parsedate_to_datetime(date)).total_seconds()
    except (ValueError, TypeError):  # no date, or one without a zone
        return None
