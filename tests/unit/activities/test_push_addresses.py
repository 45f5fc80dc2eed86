"""To which addresses of A2A clients the states of runs go."""

import pytest

from coterie.activities.contracts import Notification, PushTarget
from coterie.activities.push_addresses import push_refusal
from coterie.activities.push_delivery import PushFailed, send_push
from coterie.activities.workspace.web_access import WebAccess

ACCESS = WebAccess(
    push_hosts=("hooks.example.com", "*.partner.example", "10.0.0.7", "127.0.0.1", "relay"),
    private_hosts=("relay:8080",),
)


@pytest.mark.parametrize(
    "url",
    [
        "https://hooks.example.com/x?y=1",
        "https://HOOKS.example.com./x",
        "https://a.b.partner.example:8443/",
        "http://relay:8080/x",
    ],
)
def test_a_host_that_the_worker_names_is_reached(url: str) -> None:
    assert push_refusal(url, ACCESS) is None


@pytest.mark.parametrize(
    ("url", "because"),
    [
        ("", "empty"),
        ("https://hooks.example.com/a b", "printable"),
        ("https://hooks.example.com/\r\nx: y", "printable"),
        ("https://[::1", "read"),
        ("https://hooks.example.com:x/", "read"),
        ("https:///x", "host"),
        ("https://user@hooks.example.com/", "user"),
        ("https://hooks.example.com/#part", "fragment"),
        ("http://hooks.example.com/", "https"),
        ("http://relay:9090/", "https"),
        ("file:///etc/passwd", "host"),
        ("ftp://hooks.example.com/", "https"),
        ("https://example.com/", "push_hosts"),
        ("https://partner.example/", "push_hosts"),
        ("https://hooks.example.com.evil.example/", "push_hosts"),
    ],
)
def test_no_other_address_is_reached(url: str, because: str) -> None:
    refusal = push_refusal(url, ACCESS)
    assert refusal is not None
    assert because in refusal


@pytest.mark.parametrize("host", ["127.0.0.1", "10.0.0.7"])
async def test_a_private_address_is_refused_when_the_worker_would_connect(host: str) -> None:
    target = PushTarget(url=f"https://{host}:9/x", context="room", state="working")
    state = Notification(
        id="msg_1",
        channel="one",
        what="state",
        text="",
        run="r",
        plan="p",
        request="",
        prompt="",
        digest="",
        since="",
        push=target,
    )
    with pytest.raises(PushFailed, match="not public") as failed:
        await send_push(state, target, ACCESS)
    assert not failed.value.may_pass


def test_by_default_nothing_is_sent() -> None:
    refusal = push_refusal("https://hooks.example.com/", WebAccess())
    assert refusal is not None
    assert "push_hosts" in refusal
