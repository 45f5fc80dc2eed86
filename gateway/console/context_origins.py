"""The context of a run, and who wrote each of its values. Pure."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from coterie.dsl.evaluate.context import PathChange, differences
from coterie.dsl.values import Json
from coterie.gateway.console.page_values import ShownValue, shown_brief
from coterie.replay.trace_events import Visit
from coterie.workflows.core.causes.people_causes import Amended


@dataclass(frozen=True, slots=True)
class Write:
    """One change of one path."""

    by: str
    """A visit, or a person."""
    at: str
    """ISO 8601; empty: when the run began."""
    change: str
    """`added`, `changed`, `removed`."""
    value: ShownValue | None
    """What was written; None if it was removed."""


@dataclass(frozen=True, slots=True)
class ContextRow:
    """One path of the context."""

    path: str
    value: ShownValue | None
    """None if it was removed."""
    writes: tuple[Write, ...]
    """In order; empty: the start gave it."""

    @property
    def writer(self) -> str:
        """Who wrote it last."""
        return self.writes[-1].by if self.writes else "the start"


def context_of(context: Json, visits: Iterable[Visit]) -> tuple[ContextRow, ...]:
    """Return every path of the context with its value and its writers, and what was removed."""
    writes: dict[str, list[Write]] = {}
    for path, write in _writes(visits):
        writes.setdefault(path, []).append(write)
    rows: list[ContextRow] = []
    for leaf in differences({}, context):
        own = [
            write for path, list_ in writes.items() if _overlap(path, leaf.path) for write in list_
        ]
        rows.append(ContextRow(leaf.path, shown_brief(leaf.after), tuple(own)))
    known = {row.path for row in rows}
    for path, own in writes.items():
        if not any(_overlap(path, other) for other in known):
            rows.append(ContextRow(path, None, tuple(own)))
    return tuple(rows)


def _overlap(path: str, other: str) -> bool:
    """Return whether a write of one path concerns the other."""
    return path == other or other.startswith(f"{path}.") or path.startswith(f"{other}.")


def _writes(visits: Iterable[Visit]) -> Iterator[tuple[str, Write]]:
    found: list[tuple[str, str, PathChange]] = []
    for visit in visits:
        for event in visit.happened:
            cause = event.entry.cause
            by = cause.by if isinstance(cause, Amended) else visit.name
            found += ((event.entry.at, by, change) for change in event.changes)
        found += ((visit.ended or "", visit.name, change) for change in visit.changes)
    for at, by, change in sorted(found, key=lambda write: write[0]):
        value = None if change.change == "removed" else shown_brief(change.after)
        yield change.path, Write(by, at, change.change, value)
