"""Where a gateway may listen, and when a browser has a screen."""

import socket
from pathlib import Path

import pytest

from coterie.dsl.model.sections.access_document import AccessSection, OidcSection
from coterie.failures import CommandError
from coterie.gateway.browser_link import has_display, opening_file
from coterie.gateway.serving import check_host
from coterie.http_server.http_listener import listener

OIDC = OidcSection(issuer="https://login.example.com", client_id="coterie")
HTTPS = "https://coterie.example.com"


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "::1", "127.3.2.1"])
def test_this_machine_needs_no_provider(host: str) -> None:
    check_host(host, AccessSection())


@pytest.mark.parametrize("host", ["0.0.0.0", "10.0.0.7", "::", "coterie.example.com"])
@pytest.mark.parametrize(
    ("access", "lacks"),
    [
        (AccessSection(), "`access.oidc` and an https `access.public_url`"),
        (AccessSection(oidc=OIDC), "an https `access.public_url`"),
        (AccessSection(public_url=HTTPS), "`access.oidc`"),
        (
            AccessSection(oidc=OIDC, public_url="http://localhost:7400"),
            "an https `access.public_url`",
        ),
    ],
    ids=["nothing", "oidc", "address", "no https"],
)
def test_other_machines_need_sign_in_and_encryption(
    host: str, access: AccessSection, lacks: str
) -> None:
    with pytest.raises(CommandError) as error:
        check_host(host, access)
    assert f"coterie.yml lacks {lacks}; add it" in str(error.value)
    check_host(host, AccessSection(oidc=OIDC, public_url=HTTPS))


@pytest.mark.parametrize(
    ("environment", "platform", "expected"),
    [
        ({"DISPLAY": ":0"}, "linux", True),
        ({"WAYLAND_DISPLAY": "wayland-0"}, "linux", True),
        ({}, "linux", False),
        ({}, "darwin", True),
        ({"DISPLAY": "localhost:10", "SSH_CONNECTION": "10.0.0.1 1 10.0.0.2 22"}, "linux", False),
    ],
)
def test_a_browser_needs_a_screen_that_the_person_sees(
    environment: dict[str, str], platform: str, expected: bool
) -> None:
    assert has_display(environment, platform) is expected


def test_a_taken_port_is_named_with_the_next_free_one() -> None:
    with listener(0) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(CommandError) as error:
            listener(port)
    message = str(error.value)
    assert message.startswith(f"could not listen at 127.0.0.1:{port}: ")
    offered = int(message.rpartition("--port ")[2].split()[0])
    with socket.socket() as free:
        free.bind(("127.0.0.1", offered))


def test_the_command_line_of_a_browser_has_no_code(tmp_path: Path) -> None:
    link = "http://coterie-1.localhost:7400/open#secret&code"
    address = opening_file(link, tmp_path / "open.html")
    assert "secret" not in address
    assert (tmp_path / "open.html").stat().st_mode & 0o777 == 0o600
    assert "#secret&amp;code" in (tmp_path / "open.html").read_text()
