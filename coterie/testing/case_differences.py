"""Compare expected and found values: every difference of a case, explained for a person."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from difflib import unified_diff

from pydantic import JsonValue

from coterie.dsl.errors import listed, nearest
from coterie.dsl.evaluate.operator_table import Found
from coterie.dsl.paths import MISSING, get, parse
from coterie.runs.ends.end_words import result_words
from coterie.testing.files.case_document import ExpectDocument
from coterie.testing.files.expectations import as_seconds, check_text, holds, shown
from coterie.testing.path_difference import path_lines
from coterie.testing.simulation.case_outcome import CaseOutcome
from coterie.testing.simulation.stub_notifications import notification_differences
from coterie.testing.trail_difference import trail_differences


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


def _error(expect: ExpectDocument, found: CaseOutcome) -> Iterator[UnmetExpectation]:
    if expect.error is None:
        return
    error = found.error
    for field in ("type", "message"):
        if field in expect.error.model_fields_set:
            value: Found = MISSING if error is None else getattr(error, field)
            yield from _check_value(f"error.{field}", getattr(expect.error, field), value)


def _paths(
    where: str, checks: Mapping[str, JsonValue], found: JsonValue
) -> Iterator[UnmetExpectation]:
    for path, check in checks.items():
        if found is None:
            yield UnmetExpectation(
                f"{where}.{path}",
                f"expected {check_text(check)}, and the run ended without a result",
            )
            continue
        value = found if path == WHOLE else get(found, parse(path))
        hint = _what_there_is(found, path) if value is MISSING else ""
        yield from _check_value(f"{where}.{path}", check, value, hint)


def _what_there_is(found: JsonValue, path: str) -> str:
    """List the existing keys where a path does not match."""
    segments = parse(path)
    first = next(n for n in range(len(segments)) if get(found, segments[: n + 1]) is MISSING)
    here = get(found, segments[:first])
    keys = here if isinstance(here, dict) else {}
    return f"; there are {listed(keys)}. {nearest(segments[first], keys)}".rstrip(". ")


def _files(checks: Mapping[str, JsonValue], found: CaseOutcome) -> Iterator[UnmetExpectation]:
    for name, check in checks.items():
        text = found.text_of(name)
        yield from _check_value(f"files.{name}", check, MISSING if text is None else text)


def _counts(expect: ExpectDocument, found: CaseOutcome) -> Iterator[UnmetExpectation]:
    for team, check in expect.visits.items():
        yield from _check_value(f"visits.{team}", check, found.visits.get(team, 0))
    counts: dict[str, float] = {
        "model_calls": found.model_calls,
        "skill_calls": found.skill_calls,
        "tokens": found.tokens,
        "teams_run": found.teams_run,
    }
    for name, count in counts.items():
        if name in expect.model_fields_set:
            yield from _check_value(name, getattr(expect, name), count)
    if "cost" in expect.model_fields_set:
        yield from _cost(expect.cost, found)
    if "duration" in expect.model_fields_set and not holds(
        as_seconds(expect.duration), found.duration
    ):
        yield UnmetExpectation(
            "duration", f"expected {check_text(expect.duration)}, found {found.duration:g} s"
        )


def _cost(check: JsonValue, found: CaseOutcome) -> Iterator[UnmetExpectation]:
    if found.unpriced:
        models = ", ".join(found.unpriced)
        yield UnmetExpectation("cost", f"expected {check_text(check)}, and {models} has no price")
        return
    yield from _check_value("cost", check, found.cost or 0.0)


def _check_value(
    subject: str, check: JsonValue, found: Found, hint: str = ""
) -> Iterator[UnmetExpectation]:
    if holds(check, found):
        return
    if isinstance(check, str) and isinstance(found, str) and "\n" in check + found:
        lines = unified_diff(
            check.splitlines(), found.splitlines(), "expected", "found", lineterm=""
        )
        yield UnmetExpectation(subject, "the text differs", tuple(lines))
        return
    yield UnmetExpectation(subject, f"expected {check_text(check)}, found {shown(found)}{hint}")
