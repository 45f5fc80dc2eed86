"""Compare expected and found values: every difference of a case, explained for a person."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher, unified_diff

from pydantic import JsonValue

from coterie.dsl.errors import listed, nearest
from coterie.dsl.evaluate.operator_table import Found
from coterie.dsl.paths import MISSING, get, parse
from coterie.rendering.run_text import trail_event
from coterie.runs.ends.end_words import result_words
from coterie.testing.files.case_document import ExpectDocument, TrailCheck
from coterie.testing.files.expectations import as_seconds, check_text, holds, shown
from coterie.testing.files.short_names import written_forms
from coterie.testing.simulation.case_outcome import CaseOutcome
from coterie.testing.simulation.stub_notifications import notification_differences
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
        expected_value: JsonValue = getattr(check, field)
        actual_value: JsonValue = entry.kind if field == "event" else getattr(entry, field)
        if field == "seconds":
            expected_value = as_seconds(expected_value)
        forms = (
            written_forms(actual_value)
            if field == "step" and isinstance(actual_value, str)
            else (actual_value,)
        )
        if any(holds(expected_value, form) for form in forms):
            continue
        yield field, expected_value, actual_value


def _wanted_parts(check: TrailCheck) -> list[str]:
    return [field for field in TrailCheck.model_fields if field in check.model_fields_set]


def _missed_entry(check: TrailCheck, trail: Sequence[TrailEntry], after: int) -> MissedEntry:
    description = ", ".join(
        f"{field} {check_text(getattr(check, field))}" for field in _wanted_parts(check)
    )
    earlier = next((entry for entry in trail[:after] if _fits(check, entry)), None)
    if earlier is not None:
        return MissedEntry(
            f"no further entry with {description}",
            (f"  it came before the entries that should precede it: {_line(earlier)}",),
        )
    where = f" after entry {trail[after - 1].number}" if after else ""
    near = _nearest(check, trail[after:])
    if near is None:
        return MissedEntry(f"no entry{where} has {description}")
    differences = ", ".join(
        f"{field} is {shown(actual_value)}, not {check_text(value)}"
        for field, value, actual_value in _differing(check, near)
    )
    return MissedEntry(
        f"no entry{where} has {description}", (f"  nearest: {_line(near)}", f"  but {differences}")
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


_AROUND = 3
"""Equal teams to show before and after each difference."""

Expected = Sequence[str | tuple[str, ...]]


def path_lines(expected: Expected, taken: Sequence[TrailEntry]) -> tuple[str, ...]:
    """Show the two paths side by side, or nothing if they are equal.

    Args:
        expected: Team ids; those in a nested list may come in any order.
        taken: Trail entries of the visited teams.
    """
    actual_teams = [entry.team for entry in taken]
    expected_teams = _in_found_order(expected, actual_teams)
    if expected_teams == actual_teams:
        return ()
    return tuple(_shorten_lines(list(_beside(expected_teams, taken))))


def _in_found_order(expected: Expected, actual_teams: Sequence[str]) -> list[str]:
    """Flatten the expected teams; use the found order within a group if it has the same teams."""
    expected_teams: list[str] = []
    for part in expected:
        if isinstance(part, str):
            expected_teams.append(part)
            continue
        came = list(actual_teams[len(expected_teams) : len(expected_teams) + len(part)])
        expected_teams += came if sorted(came) == sorted(part) else part
    return expected_teams


def _beside(
    expected_teams: Sequence[str], entries: Sequence[TrailEntry]
) -> Iterator[tuple[str, str]]:
    """Yield each line with its mark: equal, `-` for missing, `+` for unexpected."""
    actual_teams = [entry.team for entry in entries]
    width = max(map(len, [*expected_teams, *actual_teams]))
    matcher = SequenceMatcher(a=list(expected_teams), b=actual_teams, autojunk=False)
    for _, a_from, a_to, b_from, b_to in matcher.get_opcodes():
        same = list(expected_teams[a_from:a_to]) == actual_teams[b_from:b_to]
        if same:
            yield from ((" ", f"    {team}") for team in expected_teams[a_from:a_to])
            continue
        yield from (("-", f"  - {team:{width}}  expected") for team in expected_teams[a_from:a_to])
        yield from (
            ("+", f"  + {entry.team:{width}}  taken, because {entry.because}")
            for entry in entries[b_from:b_to]
        )


def _shorten_lines(lines: list[tuple[str, str]]) -> Iterator[str]:
    """Yield the lines without long equal stretches."""
    changed_lines = {number for number, (kind, _) in enumerate(lines) if kind != " "}
    near = {n for number in changed_lines for n in range(number - _AROUND, number + _AROUND + 1)}
    left_out = 0
    for number, (_, line) in enumerate(lines):
        if number in near or len(lines) <= 4 * _AROUND:
            if left_out:
                yield f"    ... {left_out} as expected"
            left_out = 0
            yield line
        else:
            left_out += 1
    if left_out:
        yield f"    ... {left_out} as expected"


@dataclass(frozen=True, slots=True)
class UnmetExpectation:
    """An expectation that is not met."""

    subject: str
    """What was checked: `path`, `context.review.status`, `trail[2]`."""
    message: str
    lines: tuple[str, ...] = ()
    """Details, below the message."""

    def as_dict(self) -> dict[str, JsonValue]:
        """Return the form for `coterie test --json`."""
        return {"place": self.subject, "message": self.message, "lines": list(self.lines)}


WHOLE = "."
"""The path of a whole value, for an output that is not a mapping."""


def differences(expect: ExpectDocument, found: CaseOutcome) -> Iterator[UnmetExpectation]:
    """Yield every expectation that the outcome does not meet, the most informative first."""
    if expect.end != found.end:
        came = f"the run {result_words(found.end)}, because {found.because}"
        ended = f"expected {expect.end}, and {came}"
        yield UnmetExpectation("end", ended)
    if expect.path is not None:
        lines = path_lines(expect.path, found.path)
        if lines:
            yield UnmetExpectation("path", "the run took another path", lines)
    for number, missed in trail_differences(expect.trail, found.trail):
        yield UnmetExpectation(f"trail[{number}]", missed.message, missed.lines)
    for number, message, came in notification_differences(expect.notices, found.notifications):
        yield UnmetExpectation(f"notices[{number}]", message, came)
    yield from _error(expect, found)
    yield from _paths("context", expect.context, found.context)
    yield from _paths("output", expect.output, found.output)
    yield from _files(expect.files, found)
    yield from _counts(expect, found)


def _error(expect: ExpectDocument, outcome: CaseOutcome) -> Iterator[UnmetExpectation]:
    if expect.error is None:
        return
    error = outcome.error
    for field in ("type", "message"):
        if field in expect.error.model_fields_set:
            value: Found = MISSING if error is None else getattr(error, field)
            yield from _check_value(f"error.{field}", getattr(expect.error, field), value)


def _paths(
    where: str, checks: Mapping[str, JsonValue], data: JsonValue
) -> Iterator[UnmetExpectation]:
    for path, check in checks.items():
        if data is None:
            yield UnmetExpectation(
                f"{where}.{path}",
                f"expected {check_text(check)}, and the run ended without a result",
            )
            continue
        value = data if path == WHOLE else get(data, parse(path))
        hint = _what_there_is(data, path) if value is MISSING else ""
        yield from _check_value(f"{where}.{path}", check, value, hint)


def _what_there_is(data: JsonValue, path: str) -> str:
    """List the existing keys where a path does not match."""
    segments = parse(path)
    first = next(n for n in range(len(segments)) if get(data, segments[: n + 1]) is MISSING)
    here = get(data, segments[:first])
    keys = here if isinstance(here, dict) else {}
    return f"; there are {listed(keys)}. {nearest(segments[first], keys)}".rstrip(". ")


def _files(checks: Mapping[str, JsonValue], outcome: CaseOutcome) -> Iterator[UnmetExpectation]:
    for name, check in checks.items():
        text = outcome.text_of(name)
        yield from _check_value(f"files.{name}", check, MISSING if text is None else text)


def _counts(expect: ExpectDocument, outcome: CaseOutcome) -> Iterator[UnmetExpectation]:
    for team, check in expect.visits.items():
        yield from _check_value(f"visits.{team}", check, outcome.visits.get(team, 0))
    counts: dict[str, float] = {
        "model_calls": outcome.model_calls,
        "function_calls": outcome.function_calls,
        "tokens": outcome.tokens,
        "teams_run": outcome.teams_run,
    }
    for name, count in counts.items():
        if name in expect.model_fields_set:
            yield from _check_value(name, getattr(expect, name), count)
    if "cost" in expect.model_fields_set:
        yield from _cost(expect.cost, outcome)
    if "duration" in expect.model_fields_set and not holds(
        as_seconds(expect.duration), outcome.duration
    ):
        yield UnmetExpectation(
            "duration", f"expected {check_text(expect.duration)}, found {outcome.duration:g} s"
        )


def _cost(check: JsonValue, outcome: CaseOutcome) -> Iterator[UnmetExpectation]:
    if outcome.unpriced:
        models = ", ".join(outcome.unpriced)
        yield UnmetExpectation("cost", f"expected {check_text(check)}, and {models} has no price")
        return
    yield from _check_value("cost", check, outcome.cost or 0.0)


def _check_value(
    subject: str, check: JsonValue, actual_value: Found, hint: str = ""
) -> Iterator[UnmetExpectation]:
    if holds(check, actual_value):
        return
    if isinstance(check, str) and isinstance(actual_value, str) and "\n" in check + actual_value:
        lines = unified_diff(
            check.splitlines(), actual_value.splitlines(), "expected", "found", lineterm=""
        )
        yield UnmetExpectation(subject, "the text differs", tuple(lines))
        return
    yield UnmetExpectation(
        subject, f"expected {check_text(check)}, found {shown(actual_value)}{hint}"
    )
