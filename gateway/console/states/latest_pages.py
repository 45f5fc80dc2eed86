"""What readers saw last, for the time in which the server of Temporal does not answer.

Only what somebody saw is shown again, to nobody else, and with its time. A restart forgets it.
"""

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime

from coterie.gateway.console.page_templates import PageFrame
from coterie.gateway.identity.identity import Identity

_MAX_KEPT = 40
"""Pages. One of a long run takes some megabytes, and most of them are small."""


@dataclass(frozen=True, slots=True)
class ShownPage:
    """A page before it becomes HTML."""

    template: str
    frame: PageFrame
    page: object
    actions: object


@dataclass(frozen=True, slots=True)
class LatestPage:
    """A page that somebody saw."""

    shown: ShownPage
    at: datetime


class LatestPages:
    """The pages that were shown last, by reader and address."""

    def __init__(self, clock: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        """Take what tells the time."""
        self._clock = clock
        self._pages: OrderedDict[tuple[Identity, str], LatestPage] = OrderedDict()

    def keep(self, identity: Identity, address: str, shown: ShownPage) -> None:
        """Keep a page; the oldest one makes room for it."""
        key = _key(identity, address)
        self._pages[key] = LatestPage(shown, self._clock())
        self._pages.move_to_end(key)
        while len(self._pages) > _MAX_KEPT:
            self._pages.popitem(last=False)

    def find(self, identity: Identity, address: str) -> LatestPage | None:
        """Return what this reader saw there, with the grants that it has now; None if nothing."""
        return self._pages.get(_key(identity, address))


def _key(identity: Identity, address: str) -> tuple[Identity, str]:
    return identity.model_copy(update={"expires": None}), address
