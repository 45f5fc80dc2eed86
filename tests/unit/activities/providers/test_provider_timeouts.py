"""How long a provider waits: as long as the request allows, and less for a connection."""

import httpx2
import pytest

from coterie.activities.providers.provider_failures import ProviderFailure
from tests.support.servers.asking import KINDS, failure, request


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("seconds", "connect"), [(300.0, 10.0), (3.0, 3.0)])
async def test_a_connection_gets_ten_seconds_of_the_timeout_at_most(
    kind: str, seconds: float, connect: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[object] = []

    async def unreachable(_: object, sent: httpx2.Request) -> httpx2.Response:
        seen.append(sent.extensions["timeout"])
        raise httpx2.ConnectError("unreachable", request=sent)

    monkeypatch.setattr(httpx2.AsyncHTTPTransport, "handle_async_request", unreachable)
    failed = await failure(kind, "http://127.0.0.1:9", request(timeout=seconds))
    assert isinstance(failed, ProviderFailure)
    assert seen == [{"connect": connect, "read": seconds, "write": seconds, "pool": seconds}]
