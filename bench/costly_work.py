"""A worker whose pages and documents cost as much as they say: `python -m bench.costly_work`.

What is marked as costly spins, as a stand-in for a page or a document that is slow to read. All
else is the product's own. Pages come from here, not from the network.
"""

from dataclasses import replace

from coterie.activities.tool_functions.web import page_download, page_work, web_fetch
from coterie.activities.tool_functions.web.page_download import Page
from coterie.activities.tool_functions.web.page_work import PageSource, PageText
from coterie.worker import compile_activity, started_documents
from coterie.worker.started_documents import CompiledStart

COSTLY = "costly-stand-in"
"""A word in the address of a page, or in a document."""
_PARAGRAPH = "<p>A paragraph of an ordinary page, with <a href='/x'>a link</a> and some words.</p>"
_HERE = "bench.costly_work"


EXTRACT = replace(page_work.EXTRACT, name=f"{_HERE}:EXTRACT", function=f"{_HERE}:extracted")
COMPILE = replace(started_documents.COMPILE, name=f"{_HERE}:COMPILE", function=f"{_HERE}:compiled")


def extracted(page: PageSource) -> PageText:
    """Extract the text of a page, or spin."""
    _spin_if(COSTLY in page.url)
    return page_work.EXTRACT.call(page)


def compiled(packed: bytes) -> CompiledStart:
    """Compile a document, or spin."""
    _spin_if(COSTLY.encode() in packed)
    return started_documents.COMPILE.call(packed)


def _spin_if(is_costly: bool) -> None:
    while is_costly:
        pass


async def page(url: str, *_: object) -> Page:
    """Return an ordinary page of 100 kB."""
    body = "".join([_PARAGRAPH] * 1200)
    html = f"<html><head><title>A page</title></head><body><article>{body}</article></body></html>"
    return Page(url, "text/html", "utf-8", html.encode())


def main() -> None:
    """Serve as `coterie worker` does."""
    from coterie.cli import main as command

    web_fetch.EXTRACT = EXTRACT
    compile_activity.COMPILE = COMPILE
    page_download.download = page
    command(["worker"])


if __name__ == "__main__":
    from bench.costly_work import main as importable  # whose objects its processes find by name

    importable()
