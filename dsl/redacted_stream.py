"""Text that arrives in pieces, without secrets: also without one that two pieces share."""

import re

from coterie.dsl.known_secrets import KnownSecrets
from coterie.dsl.redaction import open_shape

MAX_TAIL = 4_000
"""Characters of the end that are kept."""
_SETTLE_AT = 2_000
_MARGIN = 400
"""Characters at the end that stay unsettled: longer than the beginning of any secret."""
_TO_LAST_BOUNDARY = re.compile(r".*[^\w.~+/=@:-]", re.ASCII | re.DOTALL)
"""No key, token or password continues behind the last character."""


class RedactedStream:
    """The end of a text in progress.

    What could be the beginning of a secret waits for the next piece, so of a text
    that was shown once only the last three characters may still change.
    """

    def __init__(self, known: KnownSecrets) -> None:
        self._known = known
        self._settled = ""
        self._dropped = 0
        """Characters of settled text that are no longer kept."""
        self._pending = ""

    def write(self, piece: str) -> None:
        """Add the next piece."""
        self._pending += piece
        if len(self._pending) > _SETTLE_AT:
            self._settle()

    def tail(self) -> tuple[int, str]:
        """Return the position of the tail in the whole text, and the tail."""
        clean = self._known.without(self._pending)
        waits = max(self._known.unfinished(clean), open_shape(clean))
        text = self._settled + clean[: len(clean) - waits]
        cut = max(0, len(text) - MAX_TAIL)
        return self._dropped + cut, text[cut:].encode(errors="replace").decode()

    def _settle(self) -> None:
        """Redact the part that no later piece can change."""
        last = len(self._pending) - _MARGIN
        settled = _TO_LAST_BOUNDARY.match(self._pending, endpos=last)
        if settled is None:
            return
        begin, rest = settled[0], self._pending[settled.end() :]
        clean = self._known.without(begin)
        if clean + self._known.without(rest) != self._known.without(self._pending):
            return  # a secret stands across the boundary
        text = self._settled + clean
        drop = max(0, len(text) - MAX_TAIL)
        self._settled, self._dropped = text[drop:], self._dropped + drop
        self._pending = rest
