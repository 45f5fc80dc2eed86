"""Prose is never an API: no product code compares, searches or parses a text for people."""

import ast
import re
from functools import cache

import pytest

from tests.law.prose import readings
from tests.law.sources import modules

FOREIGN = "the engine's errors have a status and no type for this; only its words tell it apart"
CODE = "`reason` is here one of a closed set of codes, which templates read too"

ALLOWED = {
    "dsl: _first_sentence": "Jinja2's errors have no type and no code",
    "coterie: _reason": FOREIGN,
    "coterie: start_run": FOREIGN,
    "coterie: call_error": FOREIGN,
    "coterie: waits_its_turn": FOREIGN,
    "coterie: _first_line": "the engine's core hands its failure on as one text",
    "activities: _clean": "asks whether a secret was taken out of the text, not what it says",
    "coterie: DecisionObserver._record_route": CODE,
    "coterie: DecisionObserver._led_away": CODE,
}
"""`{room: function}` that reads a text for people all the same, and why."""


@cache
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


SENTENCE = re.compile(r"[A-Za-z`'_]+(?: [a-z`'_]+){2}")
"""Three words in a row."""

CHECKERS = tuple(
    f"dsl.{shelf}." for shelf in ("analysis", "checks", "compile", "normalise", "source")
)
"""The shelves that find problems."""
WORDS = ("ProblemText", "str", "Advice", "Statement")
"""What a function returns that only words."""


def sentences(source: str) -> list[str]:
    """The texts that read like prose in functions of a module that do more than word."""
    acting = [
        node
        for node in ast.parse(source).body
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
        and (isinstance(node, ast.ClassDef) or ast.unparse(node.returns or node) not in WORDS)
    ]
    nodes = [inner for node in acting for inner in ast.walk(node)]
    docs = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    texts = [
        node.value
        for node in nodes
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docs
    ]
    return [text for text in texts if "{" not in text and SENTENCE.search(text)]


def test_no_checker_holds_prose() -> None:
    found = [
        f"{name}: {text!r}"
        for name, file in modules("dsl")
        if name.startswith(CHECKERS)
        for text in sentences(file.read_text())
    ]
    assert found == [], "state the problem by a rule"


def test_prose_of_a_checker_is_found() -> None:
    check = 'def check() -> None:\n    """Note what is not here."""\n    '
    assert sentences(check + 'problems.add("E1", f"{name} is not here, so leave it")') != []
    assert sentences(check + "problems.report(not_here(name), place)") == []
    assert sentences('def not_here() -> ProblemText:\n    return "it is not here"') == []
