"""Extract the text of a page: its main content as Markdown, without menus and hidden parts."""

from dataclasses import dataclass

from trafilatura import extract, extract_metadata
from trafilatura.utils import load_html

from activities.skills.web.page_download import Page

MAX_HTML = 2_000_000
"""Bytes of a page that are parsed: 5 MB take seconds."""

_HIDDEN = [
    "//*[@hidden or @aria-hidden='true']",
    "//*[contains(translate(@style, ' ', ''), 'display:none')]",
    "//*[contains(translate(@style, ' ', ''), 'visibility:hidden')]",
    "//*[contains(translate(@style, ' ', ''), 'font-size:0')]",
]
"""What a reader does not see is not part of the text."""


@dataclass(frozen=True, slots=True)
class PageText:
    """What a page says."""

    title: str | None
    text: str


def text_of(page: Page) -> PageText:
    """Return the text of a page; blocking.

    Text, JSON and XML stay as they are.
    """
    if page.type not in ("text/html", "application/xhtml+xml"):
        return PageText(None, _decode_page(page))
    html = page.content[:MAX_HTML]
    tree = load_html(html)
    title = None if tree is None else extract_metadata(tree, default_url=page.url)
    text = extract(
        html,
        url=page.url,
        output_format="markdown",
        include_links=True,
        include_tables=True,
        prune_xpath=_HIDDEN,
    )
    return PageText(title.title if title else None, text or "")


def _decode_page(page: Page) -> str:
    try:
        return page.content.decode(page.charset or "utf-8", errors="replace")
    except LookupError:
        return page.content.decode(errors="replace")
