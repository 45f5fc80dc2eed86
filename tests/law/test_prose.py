"""Prose is never an API: no product code compares, searches or parses a text for people."""

import pytest

from tests.law.prose import readings
from tests.law.sources import modules

FOREIGN = "the engine's errors have a status and no type for this; only its words tell it apart"
CODE = "`reason` is here one of a closed set of codes, which templates read too"

ALLOWED = {
    "dsl: _told": "Jinja2's errors have no type and no code",
    "coterie: _reason": FOREIGN,
    "coterie: start_run": FOREIGN,
    "coterie: call_error": FOREIGN,
    "coterie: waits_its_turn": FOREIGN,
    "coterie: _first_line": "the engine's core hands its failure on as one text",
    "activities: _clean": "asks whether a secret was taken out of the text, not what it says",
    "coterie: DecisionObserver._decided": CODE,
    "coterie: DecisionObserver._led_away": CODE,
}
"""`{room: function}` that reads a text for people all the same, and why."""


def found() -> dict[str, list[str]]:
    places: dict[str, list[str]] = {}
    for room in ("dsl", "activities", "workflows", "coterie"):
        for _, file in modules(room):
            for one in readings(file.read_text()):
                place = f"{file}:{one.line}: {one.code}"
                places.setdefault(f"{room}: {one.function}", []).append(place)
    return places


def test_no_product_code_decides_by_a_text_for_people() -> None:
    decided = [place for key, places in found().items() if key not in ALLOWED for place in places]
    assert decided == []


def test_every_exception_that_is_allowed_is_still_needed() -> None:
    unneeded = ALLOWED.keys() - found().keys()
    assert unneeded == set(), "remove these from ALLOWED"


@pytest.mark.parametrize(
    "code",
    [
        "if 'completed' in error.message: pass",
        "if problem.fix == 'add it': pass",
        "if entry.because != other.because: pass",
        "if entry.because in seen: pass",
        "if entry.because.startswith('rule '): pass",
        "end = message.removesuffix('.')",
        "rule = RULE.match(entry.because)",
        "rule = re.search('rule (.*)', entry.because)",
        "name = details['msg'].partition(': ')",
        "first = message.split('. ')[0]",
        "match entry.because:\n    case 'end': pass",
        "text = entry.because\nif text.startswith('rule '): pass",
        "text = f'{problem.message}{problem.fix}'\nif sentinel in text: pass",
        "text = str(error).lower()\nif 'closed' in text: pass",
        "try:\n    pass\nexcept ValueError as wrong:\n    if 'x' in str(wrong): pass",
        "try:\n    pass\nexcept ValueError as wrong:\n    if wrong.args[0] == 'x': pass",
        "end = ENDS[entry.because]",
        "end = ENDS.get(entry.because)",
        "if any(nearest(key, words) == key for key in keys): pass",
        "words = {one for one in texts if 'x' in one.message}",
        "def inner():\n    def innermost(fix):\n        return fix == 'x'",
    ],
)
def test_a_text_for_people_that_decides_is_found(code: str) -> None:
    assert len(readings(code)) == 1, code


@pytest.mark.parametrize(
    "code",
    [
        "if error.message: pass",
        "if entry.because is None: pass",
        "if error.code == 'E101': pass",
        "lines = entry.because.split('\\n')",
        "first = str(error).partition('\\n')[0]",
        "said = f'{error.type}: {error.message}'.rstrip()",
        "text = ', '.join(one.message for one in problems)",
        "if error.type in retry.errors: pass",
        "match event.kind:\n    case 'route': pass",
    ],
)
def test_code_that_only_shows_a_text_is_accepted(code: str) -> None:
    assert readings(code) == [], code
