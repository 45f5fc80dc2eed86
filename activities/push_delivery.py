"""Send the state of a run to the address that an A2A client named, if the worker allows its host.

The address comes from outside. Only hosts that the worker's configuration names are reached, at
public addresses, without redirects; the answer is not read.
"""

import json
from urllib.parse import urlsplit

import httpx2

from coterie.activities.contracts import Notification, PushTarget
from coterie.activities.providers.http_statuses import retry_after
from coterie.activities.proxies import trusted
from coterie.activities.push_addresses import push_refusal
from coterie.activities.tool_functions.web.page_download import guard_connections
from coterie.activities.tool_functions.web.public_addresses import AddressRefused, HostUnknown
from coterie.activities.workspace.web_access import WebAccess
from coterie.dsl.values import Json

TOKEN = "X-A2A-Notification-Token"
_SECONDS = 10.0


class PushFailed(Exception):
    """The message did not arrive; the text names the host, never the address."""

    def __init__(self, message: str, *, may_pass: bool, wait: float | None = None) -> None:
        self.may_pass = may_pass
        self.wait = wait
        super().__init__(message)


def push_body(notice: Notification, target: PushTarget) -> Json:
    """Return the event of A2A that says where a task is."""
    status: Json = {"state": f"TASK_STATE_{target.state.upper()}", "timestamp": notice.since}
    event: Json = {"taskId": notice.run, "contextId": target.context, "status": status}
    return {"statusUpdate": event}


async def send_push(notice: Notification, target: PushTarget, access: WebAccess) -> None:
    """Send one message; the run sends it again, if that may help.

    Raises:
        PushFailed: The address is not allowed, or nobody there took the message.
    """
    refusal = push_refusal(target.url, access)
    if refusal is not None:
        raise PushFailed(refusal, may_pass=False)
    host = urlsplit(target.url).hostname
    headers = {"content-type": "application/json", "user-agent": "coterie"}
    headers["webhook-id"] = notice.id  # the same for each attempt
    if target.token:
        headers[TOKEN] = target.token
    transport = httpx2.AsyncHTTPTransport(trusted(environment=False))
    guard_connections(transport, access)
    content = json.dumps(push_body(notice, target)).encode()
    try:
        async with (
            httpx2.AsyncClient(transport=transport, trust_env=False, timeout=_SECONDS) as client,
            client.stream("POST", target.url, content=content, headers=headers) as answer,
        ):
            pass  # its body is not read, and may have no end
    except AddressRefused as error:
        raise PushFailed(str(error), may_pass=False) from None
    except HostUnknown as error:
        raise PushFailed(str(error), may_pass=True) from None
    except (httpx2.HTTPError, httpx2.InvalidURL, OSError, ValueError) as error:
        name = type(error).__name__
        raise PushFailed(f"could not reach {host}: {name}", may_pass=True) from None
    if answer.is_success:
        return
    status = answer.status_code
    raise PushFailed(
        f"{host} answered {status}",
        may_pass=status in (408, 409, 425, 429) or status >= 500,
        wait=retry_after({name.lower(): value for name, value in answer.headers.items()}),
    )
