"""Compare expected trail entries with those of a run: same order, others may come between."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pydantic import JsonValue

from coterie.rendering.run_text import trail_event
from coterie.testing.files.case_document import TrailCheck
from coterie.testing.files.expectations import as_seconds, check_text, holds, shown
from coterie.testing.files.short_names import written_forms
from coterie.workflows.core.views import TrailEntry


@dataclass(frozen=True, slots=True)
class MissedEntry:
    """An expected entry that did not occur."""

    message: str
    lines: tuple[str, ...] = ()


def trail_differences(
    expected: Sequence[TrailCheck], trail: Sequence[TrailEntry]
) -> Iterator[tuple[int, MissedEntry]]:
    """Yield each expected entry that is missing after the previous ones, with its list index."""
    after = 0
    for number, check in enumerate(expected):
        there = next((n for n in range(after, len(trail)) if _fits(check, trail[n])), None)
        if there is not None:
            after = there + 1
            continue
        yield number, _missed_entry(check, trail, after)


def _fits(check: TrailCheck, entry: TrailEntry) -> bool:
    return not list(_differing(check, entry))


def _differing(check: TrailCheck, entry: TrailEntry) -> Iterator[tuple[str, JsonValue, JsonValue]]:
    """Yield `(field, wanted, found)` for each field that differs."""
    for field in _wanted_parts(check):
        wanted: JsonValue = getattr(check, field)
        found: JsonValue = entry.kind if field == "event" else getattr(entry, field)
        if field == "seconds":
            wanted = as_seconds(wanted)
        forms = written_forms(found) if field == "step" and isinstance(found, str) else (found,)
        if any(holds(wanted, form) for form in forms):
            continue
        yield field, wanted, found


def _wanted_parts(check: TrailCheck) -> list[str]:
    return [field for field in TrailCheck.model_fields if field in check.model_fields_set]


def _missed_entry(check: TrailCheck, trail: Sequence[TrailEntry], after: int) -> MissedEntry:
    wanted = ", ".join(
        f"{field} {check_text(getattr(check, field))}" for field in _wanted_parts(check)
    )
    earlier = next((entry for entry in trail[:after] if _fits(check, entry)), None)
    if earlier is not None:
        return MissedEntry(
            f"no further entry with {wanted}",
            (f"  it came before the entries that should precede it: {_line(earlier)}",),
        )
    where = f" after entry {trail[after - 1].number}" if after else ""
    near = _nearest(check, trail[after:])
    if near is None:
        return MissedEntry(f"no entry{where} has {wanted}")
    differences = ", ".join(
        f"{field} is {shown(found)}, not {check_text(value)}"
        for field, value, found in _differing(check, near)
    )
    return MissedEntry(
        f"no entry{where} has {wanted}", (f"  nearest: {_line(near)}", f"  but {differences}")
    )


def _nearest(check: TrailCheck, trail: Sequence[TrailEntry]) -> TrailEntry | None:
    """Return the entry with the fewest differences, if anything matches; the step counts most."""
    maximum = len(_wanted_parts(check))

    def distance(entry: TrailEntry) -> tuple[bool, int]:
        fields = [field for field, _, _ in _differing(check, entry)]
        return ("step" in fields or "team" in fields, len(fields))

    best = min(trail, key=distance, default=None)
    return None if best is None or distance(best)[1] == maximum else best


def _line(entry: TrailEntry) -> str:
    """Format the entry without its time, which a test cannot know."""
    return f"{entry.number} {trail_event(entry).strip()}"
