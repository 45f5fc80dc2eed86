"""Searching the web and arXiv through their real libraries, with stand-in answers."""

import gzip
from pathlib import Path
from time import monotonic
from typing import cast

import arxiv  # pyright: ignore[reportMissingTypeStubs]  # its types are inline
import pytest
from ddgs.engines.mojeek import Mojeek
from pydantic import JsonValue

from coterie.activities.contracts import FailureType
from coterie.activities.tool_functions.web.answer_bounds import (
    MAX_ANSWER,
    MAX_ANSWER_SECONDS,
    AnswerUnbounded,
    read_bounded,
)
from coterie.activities.workspace.function_base import Workspace
from coterie.activities.workspace.web_access import WebAccess
from coterie.dsl.values import Json
from tests.support.servers.search_pages import Hit, Paper, paper_feed, search_page
from tests.support.servers.web_server import page, web_server
from tests.support.tool_functions import call, refusal

FOUND = search_page(
    (
        Hit(
            "Tide tables - A primer", "https://example.org/tides", "How a <b>tide</b> is foretold."
        ),
        Hit("Reading a tide gauge", "https://example.org/gauge?a=1&b=2", "Floats & levels."),
        Hit("A trap for sailors", "javascript:alert(1)", "Not an address of the web."),
    )
).encode()
PAPERS = paper_feed(
    (
        Paper(
            "2402.00001v2",
            "Foretelling Tides from\n  Two Gauges",
            "We foretell the tide at a harbour\nfrom gauges at two others.",
            ("Ann Ebb", "Bo Flood"),
            "2024-02-03T17:55:59Z",
            "physics.ao-ph",
        ),
    )
).encode()


def workspace(root: Path) -> Workspace:
    return Workspace(root, web=WebAccess(search=True, arxiv=True, engines=("mojeek",)))


async def test_results_of_an_engine_are_returned_with_title_address_and_snippet(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with web_server({"*": page(FOUND)}) as server:
        monkeypatch.setattr(Mojeek, "search_url", f"{server.url}/search")
        given: Json = {"query": "tide table", "max_results": 2}
        found = cast("Json", await call(workspace(tmp_path), "Web.search", given))
    assert found == {
        "results": [
            {
                "title": "Tide tables - A primer",
                "url": "https://example.org/tides",
                "snippet": "How a tide is foretold.",
            },
            {
                "title": "Reading a tide gauge",
                "url": "https://example.org/gauge?a=1&b=2",
                "snippet": "Floats & levels.",
            },
        ]
    }
    assert len(server.asked) == 1
    assert "q=tide+table" in server.asked[0].replace("%20", "+")


async def test_a_search_without_an_answer_fails_and_may_be_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Mojeek, "search_url", "http://127.0.0.1:9/search")
    error = await refusal(workspace(tmp_path), "Web.search", {"query": "x"})
    assert (error.type, error.non_retryable) == (FailureType.FUNCTION_FAILED, False)
    assert error.message == "no search engine answered"


async def test_a_search_that_finds_nothing_has_no_results(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with web_server({"*": page(b"<html><body>No pages found</body></html>")}) as server:
        monkeypatch.setattr(Mojeek, "search_url", f"{server.url}/search")
        found = await call(workspace(tmp_path), "Web.search", {"query": "zxqj"})
    assert found == {"results": []}


async def test_papers_are_returned_with_their_abstracts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with web_server({"*": page(PAPERS, "application/atom+xml")}) as server:
        monkeypatch.setattr(arxiv.Client, "query_url_format", f"{server.url}/api/query?{{}}")
        given: Json = {"query": "ti:tides", "order": "newest", "max_results": 1}
        found = cast("Json", await call(workspace(tmp_path), "Arxiv.search", given))
    assert found == {
        "papers": [
            {
                "id": "2402.00001v2",
                "title": "Foretelling Tides from Two Gauges",
                "authors": ["Ann Ebb", "Bo Flood"],
                "published": "2024-02-03",
                "category": "physics.ao-ph",
                "abstract": "We foretell the tide at a harbour from gauges at two others.",
                "pdf_url": "https://arxiv.org/pdf/2402.00001v2",
            }
        ]
    }
    assert "search_query=ti%3Atides" in server.asked[0]
    assert "sortBy=submittedDate" in server.asked[0]


async def test_an_error_of_arxiv_may_pass(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with web_server({"*": page(b"busy", "text/plain", "503 Busy")}) as server:
        monkeypatch.setattr(arxiv.Client, "query_url_format", f"{server.url}/api/query?{{}}")
        error = await refusal(workspace(tmp_path), "Arxiv.search", {"query": "x"})
    assert (error.non_retryable, error.message) == (False, "arXiv answered with status 503")


def compressed(size: int) -> bytes:
    """An answer that is small until it is decoded."""
    return page(gzip.compress(bytes(size)), "text/html", "200 OK", "Content-Encoding: gzip")


ENDLESS = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<html>"
UNBOUNDED = {
    "endless": (ENDLESS, b" " * 1_000_000),
    "compressed": (compressed(20 * MAX_ANSWER), b""),
}


@pytest.mark.parametrize("kind", UNBOUNDED)
async def test_no_answer_of_an_engine_is_read_without_a_bound(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    answer, drip = UNBOUNDED[kind]
    async with web_server({"*": answer}, drip) as server:
        monkeypatch.setattr(Mojeek, "search_url", f"{server.url}/search")
        error = await refusal(workspace(tmp_path), "Web.search", {"query": "x"})
    assert (error.message, error.non_retryable) == ("no search engine answered", False)


@pytest.mark.parametrize("kind", UNBOUNDED)
async def test_no_answer_of_arxiv_is_read_without_a_bound(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    answer, drip = UNBOUNDED[kind]
    async with web_server({"*": answer}, drip) as server:
        monkeypatch.setattr(arxiv.Client, "query_url_format", f"{server.url}/api/query?{{}}")
        error = await refusal(workspace(tmp_path), "Arxiv.search", {"query": "x"})
    assert (error.message, error.non_retryable) == ("arXiv cannot be reached", False)


def test_a_slow_answer_ends_at_its_time_limit() -> None:
    began = monotonic() - MAX_ANSWER_SECONDS
    with pytest.raises(AnswerUnbounded, match="took more than"):
        read_bounded([b"x"], began)


@pytest.mark.parametrize(
    ("function", "option"), [("Web.search", "search"), ("Arxiv.search", "arxiv")]
)
async def test_searching_is_off_until_the_worker_enables_it(
    tmp_path: Path, function: str, option: str
) -> None:
    error = await refusal(Workspace(tmp_path), function, {"query": "x"})
    assert error.type == FailureType.FUNCTION_REFUSED
    assert f"set `worker.web.{option}: true` in coterie.yml" in error.message


@pytest.mark.parametrize("wanted", [{"query": " "}, {"query": "x" * 501}, {"query": "x", "max": 1}])
async def test_queries_out_of_bounds_are_refused(tmp_path: Path, wanted: JsonValue) -> None:
    error = await refusal(workspace(tmp_path), "Web.search", wanted)
    assert error.type == FailureType.FUNCTION_REFUSED
