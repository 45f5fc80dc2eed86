"""Extract the text of a page: its main content as Markdown, without menus and hidden parts."""

from trafilatura import extract, extract_metadata
from trafilatura.utils import load_html

from coterie.activities.tool_functions.web.page_work import PageSource, PageText

MAX_HTML = 2_000_000
"""Bytes of a page that are parsed: 5 MB take seconds."""

_HIDDEN = [
    "//*[@hidden or @aria-hidden='true']",
    "//*[contains(translate(@style, ' ', ''), 'display:none')]",
    "//*[contains(translate(@style, ' ', ''), 'visibility:hidden')]",
    "//*[contains(translate(@style, ' ', ''), 'font-size:0')]",
]
"""What a reader does not see is not part of the text."""


def extracted_text(page: PageSource) -> PageText:
    """Return the main content of HTML as Markdown, and the title."""
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
    return PageText(title=title.title if title else None, text=text or "")
