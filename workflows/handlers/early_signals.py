"""Signals that come before a run can judge them: they wait, as many as fit."""

from collections import Counter
from dataclasses import dataclass, field

from coterie.workflows.core.causes.message_causes import SignalsDropped

MAX_EARLY_SIGNALS = 1_000
"""Maximum signals, over all names."""

MAX_EARLY_BYTES = 4_000_000
"""Maximum bytes of their payloads."""

_MAX_NAMES = 20
_OTHERS = "others"


@dataclass(slots=True)
class EarlySignals:
    """The bounded queue of signals that wait until the run can judge them."""

    count: int = 0
    bytes: int = 0
    _dropped: Counter[str] = field(default_factory=Counter[str])

    def admit(self, name: str, size: int) -> bool:
        """Count one more signal of `size` bytes; False when the queue is full."""
        if self.count >= MAX_EARLY_SIGNALS or self.bytes + size > MAX_EARLY_BYTES:
            is_counted = name in self._dropped or len(self._dropped) < _MAX_NAMES
            self._dropped[name if is_counted else _OTHERS] += 1
            return False
        self.count += 1
        self.bytes += size
        return True

    def overflow(self) -> list[SignalsDropped]:
        """Return one cause for each name whose signals were dropped."""
        return [
            SignalsDropped(
                "signals_dropped",
                name,
                dropped,
                self.count,
                self.bytes,
                MAX_EARLY_SIGNALS,
                MAX_EARLY_BYTES,
            )
            for name, dropped in self._dropped.items()
        ]
