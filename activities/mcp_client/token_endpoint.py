"""Ask the token endpoint of an authorization server, within bounds of size and time."""

import base64
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Final
from urllib.parse import quote

import httpx2
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from coterie.activities.proxies import trusted
from coterie.dsl.model.sections.access_document import is_safe_url
from coterie.dsl.visible import shortened_text, visible

_TIMEOUT: Final = 15.0
_MAX_ANSWER: Final = 100_000


class TokenUnavailable(Exception):
    """The authorization server does not answer as it must; the message says how."""


class GrantRefused(Exception):
    """It refuses to give tokens; the message is its short code."""


class Tokens(BaseModel):
    """What it gives; no token is in its `repr`."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    access_token: Annotated[str, Field(min_length=1, max_length=50_000, repr=False)]
    refresh_token: str | None = Field(default=None, repr=False)
    expires_in: float | None = None

    def expires(self, now: float) -> float | None:
        """Return when the access token ends."""
        return None if self.expires_in is None else now + self.expires_in


@dataclass(frozen=True, slots=True)
class TokenGrant:
    """What is asked for, and by whom."""

    endpoint: str
    client_id: str
    form: Mapping[str, str] = field(repr=False)
    secret: str | None = field(default=None, repr=False)
    in_body: bool = False
    """Whether the secret is a field of the form, and not in a header."""


Guard = Callable[[httpx2.AsyncHTTPTransport], None]
"""Makes a transport refuse the addresses to which this process may not connect."""


async def request_tokens(grant: TokenGrant, guard: Guard | None = None) -> Tokens:
    """Return tokens.

    Args:
        grant: What is asked for.
        guard: Of the connection.

    Raises:
        GrantRefused: The server refuses.
        TokenUnavailable: It does not answer as it must, or its address is not safe.
    """
    if not is_safe_url(grant.endpoint):
        raise TokenUnavailable("the token endpoint has no https address")
    form, headers = dict(grant.form), {"Accept": "application/json"}
    if grant.secret is None or grant.in_body:
        form["client_id"] = grant.client_id
        form |= {} if grant.secret is None else {"client_secret": grant.secret}
    else:
        pair = f"{quote(grant.client_id, safe='')}:{quote(grant.secret, safe='')}"
        headers["Authorization"] = f"Basic {base64.b64encode(pair.encode()).decode()}"
    content = bytearray()
    transport = httpx2.AsyncHTTPTransport(trusted(environment=False))
    if guard is not None:
        guard(transport)
    try:
        async with (
            httpx2.AsyncClient(
                transport=transport,
                timeout=_TIMEOUT,
                follow_redirects=False,
                trust_env=False,
            ) as http,
            http.stream("POST", grant.endpoint, data=form, headers=headers) as answer,
        ):
            async for chunk in answer.aiter_bytes():
                content += chunk
                if len(content) > _MAX_ANSWER:
                    raise TokenUnavailable(f"its answer has more than {_MAX_ANSWER:,} bytes")
    except (httpx2.HTTPError, httpx2.StreamError, OSError) as error:
        raise TokenUnavailable(
            f"the token endpoint does not answer ({type(error).__name__})"
        ) from None
    return _tokens(answer.status_code, bytes(content))


def _tokens(status: int, content: bytes) -> Tokens:
    if status in (400, 401, 403):
        raise GrantRefused(_short_code(content))
    if status != 200:
        raise TokenUnavailable(f"the token endpoint answers with status {status}")
    try:
        return Tokens.model_validate_json(content)
    except ValidationError:
        raise TokenUnavailable("the token endpoint gives no access token") from None


class _Refusal(BaseModel):
    model_config = ConfigDict(extra="ignore")

    error: str = "unknown"


def _short_code(content: bytes) -> str:
    try:
        error = _Refusal.model_validate_json(content).error
    except ValidationError:
        return "unknown"
    return visible(shortened_text(error, 100))
