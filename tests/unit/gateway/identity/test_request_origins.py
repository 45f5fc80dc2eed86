"""Requests that change something come from our own pages; requests at all, to our own names."""

import pytest

from coterie.gateway.identity.request_origins import crossing, own_origin, own_path

OWN = ("https://coterie.example.com", "http://127.0.0.1:8080")
SAME = "https://coterie.example.com"


@pytest.mark.parametrize(
    ("method", "sites", "origins", "found"),
    [
        ("GET", [], [], None),
        ("GET", ["cross-site"], ["https://evil.example"], None),
        ("HEAD", ["cross-site"], [], None),
        ("POST", ["same-origin"], [SAME], None),
        ("POST", ["same-origin"], [], None),
        ("POST", ["same-site"], [SAME], "other site"),  # another port of this machine
        ("POST", ["cross-site"], [SAME], "other site"),
        ("POST", ["none"], [], "other site"),
        ("POST", ["same-origin", "cross-site"], [SAME], "other site"),
        ("POST", [], [SAME], None),
        ("POST", [], ["http://127.0.0.1:8080"], "other origin"),  # our other name
        ("POST", [], ["http://127.0.0.1:8081"], "other origin"),
        ("POST", [], ["http://coterie.example.com"], "other origin"),
        ("POST", [], ["null"], "other origin"),
        ("POST", [], [SAME, "https://evil.example"], "other origin"),
        ("POST", [], [], "no origin"),
        ("DELETE", [], [], "no origin"),
        ("post", ["cross-site"], [], "other site"),
        ("PROPFIND", ["cross-site"], [], "other site"),
    ],
)
def test_only_our_own_pages_change_something(
    method: str, sites: list[str], origins: list[str], found: str | None
) -> None:
    assert crossing(method, sites, origins, SAME) == found


@pytest.mark.parametrize(
    ("hosts", "origin"),
    [
        (["coterie.example.com"], OWN[0]),
        (["Coterie.Example.COM:443"], OWN[0]),
        (["coterie.example.com:80"], None),
        (["127.0.0.1:8080"], OWN[1]),
        (["127.0.0.1"], None),
        (["localhost:8080"], None),
        (["evil.example"], None),
        (["coterie.example.com", "evil.example"], None),
        ([], None),
    ],
)
def test_a_request_names_one_of_our_addresses(hosts: list[str], origin: str | None) -> None:
    assert own_origin(hosts, OWN) == origin


@pytest.mark.parametrize(
    ("target", "path"),
    [
        ("/runs/a?b=c#d", "/runs/a?b=c#d"),
        (None, "/"),
        ("", "/"),
        ("https://evil.example", "/"),
        ("//evil.example", "/"),
        ("/\\evil.example", "/"),
        ("/a\r\nSet-Cookie: x", "/"),
        ("/\t/evil.example", "/"),
        ("javascript:alert(1)", "/"),
        ("/" + "a" * 1000, "/"),
    ],
)
def test_sign_in_leads_to_a_path_of_ours(target: str | None, path: str) -> None:
    assert own_path(target) == path
