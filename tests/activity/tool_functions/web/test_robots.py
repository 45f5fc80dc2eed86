"""Reading a page only where the `robots.txt` of its site allows it, by RFC 9309."""

from collections.abc import Mapping
from pathlib import Path

import pytest
from temporalio.exceptions import ApplicationError

from coterie.activities.tool_functions.web.robots import MAX_SIZE
from coterie.activities.workspace.function_base import Workspace
from coterie.activities.workspace.web_access import WebAccess
from coterie.dsl.values import Json
from tests.support.servers.web_server import WebServer, page, redirect, web_server
from tests.support.tool_functions import call, refusal

TEXT = page(b"hello", "text/plain")
BY_NAME = (
    "User-agent: *\nDisallow: /\n\nUser-agent: coterie\nDisallow: /private*/\nAllow: /private/ok\n"
)


def workspace(root: Path, server: WebServer) -> Workspace:
    return Workspace(root, web=WebAccess(fetch=True, private_hosts=(server.host,)))


def rules(text: str) -> bytes:
    return page(text.encode(), "text/plain")


async def outcome(root: Path, robots: bytes | None, path: str = "/p") -> tuple[str | None, bool]:
    """The type of the failure, and whether it is final; or no type."""
    pages: Mapping[str, bytes] = {path: TEXT, "/moved.txt": rules("User-agent: *\nDisallow: /p")}
    async with web_server(pages if robots is None else {**pages, "/robots.txt": robots}) as server:
        given: Json = {"url": f"{server.url}{path}"}
        try:
            await call(workspace(root, server), "Web.fetch", given)
        except ApplicationError:
            assert path not in server.asked
            error = await refusal(workspace(root, server), "Web.fetch", given)
            return error.type, error.non_retryable
        assert server.asked == ["/robots.txt", path]
        return None, False


@pytest.mark.parametrize(
    ("path", "type"),
    [
        ("/open", None),
        ("/private/x", "FunctionRefused"),
        ("/private2/x", "FunctionRefused"),
        ("/private/ok", None),
    ],
)
async def test_the_rules_for_the_product_count_and_the_longest_wins(
    tmp_path: Path, path: str, type: str | None
) -> None:
    assert await outcome(tmp_path, rules(BY_NAME), path) == (type, type is not None)


@pytest.mark.parametrize(
    ("robots", "expected"),
    [
        (None, (None, False)),
        (page(b"no", "text/plain", "403 Forbidden"), (None, False)),
        (page(b"no", "text/plain", "503 Busy"), ("FunctionFailed", False)),
        (b"nonsense", ("FunctionFailed", False)),
        (redirect("/moved.txt"), ("FunctionRefused", True)),
        (redirect("http://10.0.0.1/robots.txt"), ("FunctionRefused", True)),
        (page(b"<html>no rules</html>"), (None, False)),
        (rules("#" * MAX_SIZE + "\nUser-agent: *\nDisallow: /"), (None, False)),
        (rules("User-agent: *\nDisallow: /" + "*p" * 10_000), (None, False)),
    ],
)
async def test_a_file_that_is_absent_allows_and_one_that_fails_does_not(
    tmp_path: Path, robots: bytes | None, expected: tuple[str | None, bool]
) -> None:
    assert await outcome(tmp_path, robots) == expected


async def test_a_file_is_read_once_for_many_pages_and_again_after_a_redirect(
    tmp_path: Path,
) -> None:
    async with web_server({"/p": TEXT, "/robots.txt": rules("User-agent: *\nDisallow: /x")}) as far:
        pages = {"/a": TEXT, "/b": redirect(f"{far.url}/p"), "/c": redirect(f"{far.url}/x")}
        async with web_server(pages) as near:
            access = WebAccess(fetch=True, private_hosts=(near.host, far.host))
            both = Workspace(tmp_path, web=access)
            for path in ("/a", "/b"):
                await call(both, "Web.fetch", {"url": f"{near.url}{path}"})
            error = await refusal(both, "Web.fetch", {"url": f"{near.url}/c"})
            assert "does not allow Coterie to read this page" in error.message
            assert near.asked == ["/robots.txt", "/a", "/b", "/c"]
            assert far.asked == ["/robots.txt", "/p"]
