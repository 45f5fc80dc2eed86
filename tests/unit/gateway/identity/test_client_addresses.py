"""Addresses of clients behind proxies, and how failures are counted by them."""

import pytest

from coterie.gateway.identity.client_addresses import client_address, counted_as, networks_of
from coterie.gateway.identity.failed_sign_ins import FailedSignIns

PROXIES = networks_of(("10.0.0.0/8", "fd00::/8"))


@pytest.mark.parametrize(
    ("peer", "forwarded", "address"),
    [
        ("203.0.113.7", ["6.6.6.6"], "203.0.113.7"),  # not one of our proxies
        ("127.0.0.1", ["6.6.6.6"], "127.0.0.1"),
        ("10.0.0.1", ["198.51.100.2"], "198.51.100.2"),
        ("10.0.0.1", ["6.6.6.6, 198.51.100.2"], "198.51.100.2"),
        ("10.0.0.1", ["6.6.6.6", "198.51.100.2, 10.2.0.1"], "198.51.100.2"),
        ("10.0.0.1", ["10.3.0.1, 10.2.0.1"], "10.3.0.1"),
        ("10.0.0.1", [], "10.0.0.1"),
        ("10.0.0.1", ["unknown"], "10.0.0.1"),
        ("10.0.0.1", ["198.51.100.2:4711"], "10.0.0.1"),
        ("::ffff:10.0.0.1", ["2001:db8::1"], "2001:db8::1"),
        ("fd00::1", ["[2001:db8::1]"], "2001:db8::1"),
        ("", ["6.6.6.6"], ""),
    ],
)
def test_an_address_is_believed_as_far_as_our_proxies_wrote_it(
    peer: str, forwarded: list[str], address: str
) -> None:
    assert client_address(peer, forwarded, PROXIES) == address


def test_a_customer_with_an_ipv6_network_counts_once() -> None:
    assert counted_as("2001:db8:1:2::9") == counted_as("2001:db8:1:2:ffff::1")
    assert counted_as("2001:db8:1:3::9") != counted_as("2001:db8:1:2::9")
    assert counted_as("::ffff:10.0.0.1") == counted_as("10.0.0.1") == "10.0.0.1"


def test_an_address_waits_after_too_many_failures_and_others_do_not() -> None:
    failures = FailedSignIns(failures=3, window=60, addresses=2)
    for second in range(3):
        assert failures.wait_for("10.0.0.1", second) == 0
        failures.record("10.0.0.1", second)
    assert failures.wait_for("10.0.0.1", 10) == 50
    assert failures.wait_for("10.0.0.2", 10) == 0
    assert failures.wait_for("10.0.0.1", 60) == 0
    failures.record("10.0.0.1", 60)
    assert failures.wait_for("10.0.0.1", 60) == 1


def test_the_memory_of_failures_is_bounded() -> None:
    failures = FailedSignIns(failures=1, window=60, addresses=2)
    for number in range(5):
        failures.record(f"10.0.0.{number}", 0)
    waits = [failures.wait_for(f"10.0.0.{number}", 1) > 0 for number in range(5)]
    assert waits == [False, False, False, True, True]
