"""Ask the OIDC provider: discovery, keys with an age, codes, renewal, revocation.

Only the issuer of the configuration and addresses that its document names are asked, over https
(http only on this machine), without redirects, and with bounds on size and time.
"""

import asyncio
import base64
import time
from collections.abc import Callable, Mapping
from urllib.parse import quote_plus, urlsplit

import httpx2
from pydantic import BaseModel, ConfigDict, ValidationError

from coterie.activities.proxies import DIRECT, trusted
from coterie.dsl.model.sections.access_document import OidcSection
from coterie.dsl.model.sections.safe_addresses import is_loopback, is_safe_url
from coterie.dsl.strict_json import read_json
from coterie.dsl.values import JsonValue
from coterie.gateway.identity.sign_in_failures import (
    SignInFailure,
    provider_invalid,
    provider_unreachable,
)
from coterie.gateway.identity.token_claims import KeyEntry, keys_of

_MAX_ANSWER = 1_000_000
_TIMEOUT = 10.0
_DOCUMENT_AGE = 3600.0
KEYS_AGE = 600.0
"""Seconds: a key that the provider withdraws counts no longer."""
_MIN_KEYS_AGE = 10.0
"""Between two fetches for unknown keys: forged tokens must not become requests to the provider."""
_RETRY_AFTER = 5.0
"""Seconds after a failed fetch: while a provider is away, no request waits for its timeout."""


class ProviderMetadata(BaseModel):
    """What we use of the discovery document."""

    model_config = ConfigDict(frozen=True, extra="ignore", strict=True)

    issuer: str
    authorization_endpoint: str
    token_endpoint: str
    jwks_uri: str
    userinfo_endpoint: str | None = None
    end_session_endpoint: str | None = None
    revocation_endpoint: str | None = None
    token_endpoint_auth_methods_supported: list[str] = ["client_secret_basic"]
    authorization_response_iss_parameter_supported: bool = False

    def unsafe_address(self) -> str | None:
        """Return the key of an address to which nothing may be sent; None if there is none."""
        loopback = is_loopback(urlsplit(self.issuer).hostname or "")
        for key, value in self:
            is_address = key.endswith(("_endpoint", "_uri")) and isinstance(value, str)
            if is_address and not is_safe_url(value, loopback=loopback):
                return key
        return None


class TokenAnswer(BaseModel):
    """What the token endpoint gives; no token is in its `repr`."""

    model_config = ConfigDict(frozen=True, extra="ignore", strict=True)

    id_token: str | None = None
    access_token: str | None = None
    refresh_token: str | None = None

    def __repr__(self) -> str:
        return "TokenAnswer(...)"


class GrantRefusedError(Exception):
    """The provider refuses a code or a renewal; `error` is its short code."""

    def __init__(self, error: str) -> None:
        self.error = error
        super().__init__(error)


class OidcProvider:
    """One provider, as seen by one client of it."""

    def __init__(
        self,
        oidc: OidcSection,
        secret: str | None,
        *,
        clock: Callable[[], float] = time.time,
        transport: httpx2.AsyncBaseTransport | None = None,
    ) -> None:
        """Take the configuration, and the client's secret if it has one.

        Args:
            oidc: The section of `coterie.yml`.
            secret: Of the client.
            clock: Seconds since the epoch.
            transport: Instead of the network.
        """
        self.oidc = oidc
        self._secret = secret
        self._clock = clock
        self._transport = transport
        self._client: httpx2.AsyncClient | None = None
        self._lock = asyncio.Lock()
        self._metadata: ProviderMetadata | None = None
        self._metadata_at = 0.0
        self._keys: tuple[KeyEntry, ...] = ()
        self._keys_at = float("-inf")
        self._retry_at = float("-inf")

    async def metadata(self) -> ProviderMetadata:
        """Return the discovery document, at most an hour old.

        Raises:
            SignInFailure: It cannot be read, or is of another issuer.
        """
        async with self._lock:
            if self._metadata is None or self._clock() - self._metadata_at > _DOCUMENT_AGE:
                self._metadata = await self._read_metadata()
                self._metadata_at = self._clock()
            return self._metadata

    async def keys(self, key_id: str | None) -> tuple[KeyEntry, ...]:
        """Return the keys, at most ten minutes old; newer ones if this key is not among them.

        Raises:
            SignInFailure: They cannot be read.
        """
        address = (await self.metadata()).jwks_uri
        async with self._lock:
            age = self._clock() - self._keys_at
            is_unknown = key_id is not None and all(entry.id != key_id for entry in self._keys)
            if age > KEYS_AGE or (is_unknown and age > _MIN_KEYS_AGE):
                self._keys = keys_of(await self._read(address, "keys"))
                self._keys_at = self._clock()
            return self._keys

    async def exchange(self, code: str, verifier: str, redirect_uri: str) -> TokenAnswer:
        """Return the tokens for a code.

        Raises:
            GrantRefusedError: The provider refuses the code.
            SignInFailure: It does not answer as it must.
        """
        form = {"grant_type": "authorization_code", "code": code, "code_verifier": verifier}
        return await self._ask_tokens({**form, "redirect_uri": redirect_uri})

    async def renew(self, refresh_token: str) -> TokenAnswer:
        """Return new tokens; fails as `exchange`."""
        return await self._ask_tokens(
            {"grant_type": "refresh_token", "refresh_token": refresh_token}
        )

    async def userinfo(self, access_token: str) -> JsonValue:
        """Return the claims of a person; None if the provider offers none.

        Raises:
            SignInFailure: It does not answer as it must.
        """
        address = (await self.metadata()).userinfo_endpoint
        if address is None:
            return None
        return await self._get(address, "userinfo", {"Authorization": f"Bearer {access_token}"})

    async def revoke(self, refresh_token: str) -> None:
        """Make a refresh token worthless, if the provider offers that; errors change nothing."""
        metadata = await self.metadata()
        if metadata.revocation_endpoint is not None:
            form = {"token": refresh_token, "token_type_hint": "refresh_token"}
            await self._post(metadata, metadata.revocation_endpoint, form, "revocation")

    async def close(self) -> None:
        """Close the connections."""
        client, self._client = self._client, None
        if client is not None:
            await client.aclose()

    async def _read_metadata(self) -> ProviderMetadata:
        address = f"{self.oidc.issuer.rstrip('/')}/.well-known/openid-configuration"
        document = await self._read(address, "discovery")
        try:
            metadata = ProviderMetadata.model_validate(document)
        except ValidationError as error:
            keys = ", ".join(str(problem["loc"][0]) for problem in error.errors() if problem["loc"])
            raise provider_invalid(f"its discovery document lacks {keys or 'its keys'}") from None
        if metadata.issuer != self.oidc.issuer:
            raise provider_invalid("its discovery document names another issuer")
        if (key := metadata.unsafe_address()) is not None:
            raise provider_invalid(f"its discovery document has no https address as {key}")
        return metadata

    async def _read(self, address: str, what: str) -> JsonValue:
        """Return a public document; soon after a failure, fail without a request."""
        if self._clock() < self._retry_at:
            raise provider_unreachable(what, "it failed a moment ago")
        try:
            return await self._get(address, what)
        except SignInFailure:
            self._retry_at = self._clock() + _RETRY_AFTER
            raise

    async def _ask_tokens(self, form: Mapping[str, str]) -> TokenAnswer:
        metadata = await self.metadata()
        status, answer = await self._post(metadata, metadata.token_endpoint, form, "token")
        if 400 <= status < 500 and isinstance(answer, dict):
            raise GrantRefusedError(_short_code(answer.get("error")))
        if status != 200:
            raise provider_unreachable("token", f"status {status}")
        try:
            return TokenAnswer.model_validate(answer)
        except ValidationError:
            raise provider_invalid("its tokens have another form") from None

    async def _post(
        self, metadata: ProviderMetadata, address: str, form: Mapping[str, str], what: str
    ) -> tuple[int, JsonValue]:
        headers = {"Accept": "application/json"}
        fields = dict(form)
        methods = metadata.token_endpoint_auth_methods_supported
        if self._secret is None:
            fields["client_id"] = self.oidc.client_id
        elif "client_secret_basic" in methods or "client_secret_post" not in methods:
            pair = f"{quote_plus(self.oidc.client_id)}:{quote_plus(self._secret)}"
            headers["Authorization"] = f"Basic {base64.b64encode(pair.encode()).decode()}"
        else:
            fields |= {"client_id": self.oidc.client_id, "client_secret": self._secret}
        return await self._send("POST", address, what, headers, fields)

    async def _get(
        self, address: str, what: str, headers: Mapping[str, str] | None = None
    ) -> JsonValue:
        wanted = {"Accept": "application/json", **(headers or {})}
        status, answer = await self._send("GET", address, what, wanted, None)
        if status != 200:
            raise provider_unreachable(what, f"status {status}")
        return answer

    async def _send(
        self,
        method: str,
        address: str,
        what: str,
        headers: Mapping[str, str],
        form: Mapping[str, str] | None,
    ) -> tuple[int, JsonValue]:
        """Return status and JSON of an answer, whose size and time are bounded."""
        content = bytearray()
        try:
            async with (
                asyncio.timeout(_TIMEOUT),
                self._http_client().stream(method, address, headers=headers, data=form) as answer,
            ):
                async for chunk in answer.aiter_bytes():
                    content += chunk
                    if len(content) > _MAX_ANSWER:
                        raise provider_invalid(f"more than {_MAX_ANSWER} bytes ({what})")
        except TimeoutError:
            raise provider_unreachable(what, f"no answer within {_TIMEOUT:g} s") from None
        except (httpx2.HTTPError, httpx2.InvalidURL, httpx2.StreamError, OSError) as error:
            raise provider_unreachable(what, type(error).__name__) from None
        if not content:
            return answer.status_code, None
        try:
            return answer.status_code, read_json(bytes(content))
        except ValueError:
            if answer.status_code >= 400:
                return answer.status_code, None
            raise provider_invalid(f"no JSON ({what})") from None

    def _http_client(self) -> httpx2.AsyncClient:
        if self._client is None:
            self._client = httpx2.AsyncClient(
                verify=trusted(),
                timeout=_TIMEOUT,
                follow_redirects=False,
                mounts={} if self._transport else DIRECT,
                transport=self._transport,
                headers={"User-Agent": "coterie"},
            )
        return self._client


def _short_code(error: JsonValue) -> str:
    """Return an error code of the provider, if it looks like one."""
    if isinstance(error, str) and error.isascii() and error.replace("_", "").isalnum():
        return error[:50]
    return "unknown error"
