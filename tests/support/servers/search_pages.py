"""Pages in the form of a search engine and of arXiv, with contents of our own."""

from collections.abc import Sequence
from html import escape
from typing import NamedTuple

_ATOM = "http://www.w3.org/2005/Atom"
_SEARCH = "http://a9.com/-/spec/opensearch/1.1/"
_SCHEME = "http://arxiv.org/schemas/atom"


class Hit(NamedTuple):
    """One result of a search engine."""

    title: str
    url: str
    snippet: str
    """May contain tags, as engines mark the words of a query."""


class Paper(NamedTuple):
    """One entry of arXiv's feed."""

    id: str
    title: str
    """May have line breaks, as the feed has."""
    summary: str
    authors: Sequence[str]
    published: str
    category: str


def search_page(hits: Sequence[Hit]) -> str:
    """Return a page of results as the engine `mojeek` sends it."""
    items = "\n".join(
        f'<li class="r{number}"><h2><a class="title" href="{escape(hit.url)}">{escape(hit.title)}'
        f'</a></h2>\n<p class="s">{hit.snippet}</p></li>'
        for number, hit in enumerate(hits, 1)
    )
    listed = f'<div class="results"><ul class="results-standard">\n{items}\n</ul></div>'
    return f"<!doctype html><html><body>{listed}</body></html>\n"


def paper_feed(papers: Sequence[Paper]) -> str:
    """Return a feed of papers as arXiv's API sends it."""
    count = len(papers)
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        f'<feed xmlns="{_ATOM}" xmlns:opensearch="{_SEARCH}" xmlns:arxiv="{_SCHEME}">\n'
        "<title>A query</title><id>http://arxiv.org/api/q</id>\n"
        "<updated>2026-01-02T00:00:00-05:00</updated>\n"
        f"<opensearch:totalResults>{count}</opensearch:totalResults>\n"
        "<opensearch:startIndex>0</opensearch:startIndex>\n"
        f"<opensearch:itemsPerPage>{count}</opensearch:itemsPerPage>\n"
        f"{''.join(map(_entry, papers))}</feed>\n"
    )


def _entry(paper: Paper) -> str:
    authors = "".join(f"<author><name>{escape(name)}</name></author>" for name in paper.authors)
    category = f'term="{paper.category}" scheme="{_SCHEME}"'
    base = "arxiv.org"
    return (
        f"<entry><id>http://{base}/abs/{paper.id}</id>\n"
        f"<updated>{paper.published}</updated><published>{paper.published}</published>\n"
        f"<title>{escape(paper.title)}</title><summary>  {escape(paper.summary)}\n</summary>\n"
        f"{authors}\n"
        f'<arxiv:primary_category xmlns:arxiv="{_SCHEME}" {category}/><category {category}/>\n'
        f'<link href="https://{base}/abs/{paper.id}" rel="alternate" type="text/html"/>\n'
        f'<link title="pdf" href="https://{base}/pdf/{paper.id}" rel="related"'
        ' type="application/pdf"/></entry>\n'
    )
