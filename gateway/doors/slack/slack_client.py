"""Call Slack: its API with the token of the app, and the addresses that change a message."""

import json
import logging
from collections.abc import Mapping
from typing import Final
from urllib.parse import urlencode, urlsplit

from coterie.activities.proxies import DIRECT, trusted
from coterie.dsl.model.sections.access_document import SlackSection
from coterie.dsl.model.sections.safe_addresses import is_loopback
from coterie.dsl.strict_json import read_json
from coterie.dsl.values import Json

_TIMEOUT: Final = 10.0
_MAX_ANSWER: Final = 4 * 1024 * 1024
"""Bytes; a page of a thread has long messages."""
_JSON: Final = "application/json; charset=utf-8"
_FORM: Final = "application/x-www-form-urlencoded"
_HOSTS: Final = frozenset({"hooks.slack.com", "hooks.slack-gov.com"})
"""Where Slack takes changes of a message."""

_log = logging.getLogger("coterie")


def is_response_url(url: str, slack: SlackSection) -> bool:
    """Return whether an address is one at which Slack changes a message.

    The signature proves that Slack sent it; it is checked nevertheless, so that nothing makes the
    gateway call other hosts. A stand-in of Slack on this machine answers at its own address.
    """
    try:
        parts, api = urlsplit(url), urlsplit(slack.api)
        port = parts.port
    except ValueError:
        return False
    if parts.username is not None or parts.password is not None or not url.isprintable():
        return False
    if is_loopback(api.hostname or ""):
        return (parts.scheme, parts.netloc) == (api.scheme, api.netloc)
    return parts.scheme == "https" and parts.hostname in _HOSTS and port in (None, 443)


class SlackClient:
    """Posts to Slack; a failure is logged, since nobody waits for it."""

    def __init__(self, slack: SlackSection, token: str | None) -> None:
        """Take the settings, and the token of the app, if there is one."""
        self._slack = slack
        self._token = token

    async def change_message(self, url: str, message: Json) -> bool:
        """Change the message with a button, or answer it; return whether Slack took it."""
        if not is_response_url(url, self._slack):
            _log.warning("an interaction of Slack names an address that is not Slack's")
            return False
        return await self._post(url, json.dumps(message).encode(), _JSON, {}) is not None

    async def call(self, method: str, message: Json) -> bool:
        """Call a method of the API; return whether Slack did it."""
        return await self._answer(method, json.dumps(message).encode(), _JSON) is not None

    async def read(self, method: str, arguments: Mapping[str, str]) -> Json | None:
        """Call a method that reads, which takes a form alone; None if Slack did not do it."""
        return await self._answer(method, urlencode(arguments).encode(), _FORM)

    async def _answer(self, method: str, content: bytes, kind: str) -> Json | None:
        headers = {"authorization": f"Bearer {self._token}"}
        url = f"{self._slack.api}/{method}"
        body = None if self._token is None else await self._post(url, content, kind, headers)
        try:
            answer = None if body is None else read_json(body)
        except ValueError:
            answer = None
        if isinstance(answer, dict) and answer.get("ok") is True:
            return answer
        _log.warning("Slack did not perform %s", method)
        return None

    async def _post(
        self, url: str, content: bytes, kind: str, headers: Mapping[str, str]
    ) -> bytes | None:
        import httpx2  # late: only a gateway with Slack needs it

        headers = {**headers, "content-type": kind}
        try:
            async with (
                httpx2.AsyncClient(
                    verify=trusted(), timeout=_TIMEOUT, follow_redirects=False, mounts=DIRECT
                ) as client,
                client.stream("POST", url, content=content, headers=headers) as answer,
            ):
                body = bytearray()
                async for chunk in answer.aiter_bytes():
                    body += chunk
                    if len(body) > _MAX_ANSWER:
                        return None
                return bytes(body) if answer.is_success else None
        except (httpx2.HTTPError, httpx2.InvalidURL, OSError, ValueError) as error:
            _log.warning("Slack could not be reached (%s)", type(error).__name__)
            return None
