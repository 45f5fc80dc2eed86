"""Read what a server offers, page by page and within bounds."""

from collections.abc import Awaitable, Callable, Sequence
from hashlib import sha256
from typing import Generic, NamedTuple, TypeVar

from coterie.activities.mcp_client.call_outcomes import FoundServerTools, UnusableTool
from coterie.dsl.model.capabilities import ServerTool
from coterie.dsl.model.tools.offer_names import OfferKind

MAX_TOOLS = 1_000
"""Tools of one server, and as many resources and prompts; further ones are not read."""

_MAX_PAGES = 100
_MAX_LEFT_OUT = 100
_MAX_OLD_PAGES = 3
"""Pages in a row that bring no new offer."""

T = TypeVar("T")


class OfferPage(NamedTuple, Generic[T]):
    """A page of a list."""

    items: Sequence[T]
    next_cursor: str | None


async def list_offers(
    page_at: Callable[[str | None], Awaitable[OfferPage[T]]],
    offer_of: Callable[[T], ServerTool | UnusableTool],
    kind: OfferKind,
) -> FoundServerTools:
    """Return what all pages offer, and what cannot be offered; stop at the bounds.

    Args:
        page_at: Asks the server for the page at a cursor; None for the first page.
        offer_of: Returns an item as a tool.
        kind: What is listed.
    """
    tools: dict[str, ServerTool] = {}
    left_out: list[UnusableTool] = []
    item_count, old_pages = 0, 0
    cursor: str | None = None
    cursors = set[str]()
    end: str | None = None
    for _ in range(_MAX_PAGES):
        page = await page_at(cursor)
        earlier_count = len(tools) + len(left_out)
        for item in page.items[: MAX_TOOLS - item_count]:
            _take(offer_of(item), kind, tools, left_out)
        item_count += len(page.items)
        cursor = page.next_cursor
        old_pages = 0 if len(tools) + len(left_out) > earlier_count else old_pages + 1
        if item_count > MAX_TOOLS or (item_count == MAX_TOOLS and cursor is not None):
            end = f"the server has more than {MAX_TOOLS} {kind}s"
        elif cursor in cursors:
            end = f"the server lists its {kind}s in a circle: a page names an earlier one as next"
        elif cursor is not None and old_pages == _MAX_OLD_PAGES:
            end = f"{_MAX_OLD_PAGES} pages in a row have no new {kind}; later pages are not read"
        if end is not None or cursor is None:
            break
        cursors.add(cursor)
    else:
        end = f"the server has more than {_MAX_PAGES} pages of {kind}s"
    if end is not None:
        left_out.insert(0, UnusableTool("...", end))
    if len(left_out) > _MAX_LEFT_OUT:
        more = len(left_out) - _MAX_LEFT_OUT
        left_out[_MAX_LEFT_OUT:] = [UnusableTool("...", f"and {more} more")]
    return FoundServerTools(tuple(tools.values()), tuple(left_out))


def _take(
    offer: ServerTool | UnusableTool,
    kind: OfferKind,
    tools: dict[str, ServerTool],
    left_out: list[UnusableTool],
) -> None:
    """Add an offer to those that are usable, or to those that are not."""
    if isinstance(offer, UnusableTool):
        left_out.append(offer)
        return
    own = _with_own_name(offer, tools)
    same = tools.setdefault(own.name, own)
    if same != own:
        left_out.append(UnusableTool(own.name, f"an earlier {kind} has the same name"))


def _with_own_name(offer: ServerTool, tools: dict[str, ServerTool]) -> ServerTool:
    """Tell a resource from another one of the same name by its URI."""
    same = tools.get(offer.name)
    if same is None or same.uri == offer.uri:
        return offer
    suffix = sha256(offer.uri.encode()).hexdigest()[:8]
    return offer.model_copy(update={"name": f"{offer.name}-{suffix}"})
