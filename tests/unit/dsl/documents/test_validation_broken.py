"""Every broken file gives exactly the problems that its header lists, each at its place.

The header: a sentence, perhaps `untrusted` or `included` (by another file), and one line per
problem, in reading order:
`# E101 12:9 part of the message, of what is allowed, or of the fix`.
"""

import re
from dataclasses import dataclass
from pathlib import Path

import pytest

from coterie.dsl.errors import Problem
from coterie.explaining.code_pages import known_codes
from tests.support.compiling import problems_of, problems_of_included
from tests.support.places import DATA

FOLDER = DATA / "broken"
FILES = sorted(FOLDER.glob("*.yml"))
OF_FILES = {"E001", "E006", "E007", "W518"}
"""Codes of files that cannot be read, or that include others: `tests/e2e` shows them."""

OF_FOLDERS = {"E008", "W536"}
"""Codes of folders: `tests/unit/coterie/documents/test_skill_folders.py` has them."""

OF_ANALYSIS = {f"W5{number:02}" for number in (3, 4, 5, 6, 7, 8, 9, 13, 19, 21, 22, 23, 24, 26, 31)}
"""Codes of the analysis, which has tests of its own."""

OF_THE_CALENDAR = {"W534", "W535"}
"""Codes that need a date: `tests/unit/coterie/deployed/test_schedule_warnings.py` has them."""

_EXPECTED = re.compile(r"# ([EW]\d{3}) (\d+):(\d+)(?: (.*))?\Z")


@dataclass(frozen=True)
class Expected:
    """One line of a header."""

    code: str
    line: int
    column: int
    part: str


def expected(text: str) -> list[Expected]:
    found = (_EXPECTED.match(line) for line in text.splitlines())
    return [Expected(m[1], int(m[2]), int(m[3]), m[4] or "") for m in found if m]


def problems(file: Path) -> tuple[Problem, ...]:
    text = file.read_text()
    if "# included" in text.splitlines()[:3]:
        return problems_of_included(text)
    return problems_of(text, trusted="# untrusted" not in text.splitlines()[:3])


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_exactly_the_listed_problems_are_reported_each_at_its_place(file: Path) -> None:
    wanted = [(one.code, one.line, one.column) for one in expected(file.read_text())]
    found = [(one.code, one.line, one.column) for one in problems(file)]
    assert sorted(found, key=lambda one: one[1:]) == wanted


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_each_problem_says_what_it_should(file: Path) -> None:
    wanted = expected(file.read_text())
    for problem in problems(file):
        parts = [
            one.part
            for one in wanted
            if (one.line, one.column) == (problem.line, problem.column) and one.code == problem.code
        ]
        text = f"{problem.message} | {problem.allowed} | {problem.fix}"
        assert any(part in text for part in parts), text


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_each_problem_is_one_clear_sentence_with_a_path(file: Path) -> None:
    for problem in problems(file):
        assert problem.message
        assert not problem.message.endswith(".")
        assert "\0" not in problem.message + problem.allowed + problem.fix + problem.path
        assert len(problem.message) < 300
        assert problem.path or problem.code in ("E002", "E004", "E005", "E102")


def test_fifteen_different_mistakes_are_reported_in_one_pass() -> None:
    found = problems(FOLDER / "fifteen.yml")
    assert len(found) == 15
    assert len({problem.code for problem in found}) == 15
    assert found == tuple(sorted(found, key=lambda problem: (problem.line, problem.column)))


def test_there_is_a_broken_file_for_every_code_that_the_compiler_has() -> None:
    shown = {one.code for file in FILES for one in expected(file.read_text())}
    assert shown | OF_FILES | OF_FOLDERS | OF_ANALYSIS | OF_THE_CALENDAR == set(known_codes())
    assert not shown & OF_ANALYSIS


def test_the_places_do_not_move_when_the_file_is_one_of_several() -> None:
    text = (FOLDER / "fifteen.yml").read_text()
    alone = problems_of(text)
    after_another = problems_of("llm_config: { agents: { old: { x: 1 } } }\n", text)
    assert [(p.code, p.line, p.column) for p in after_another] == [
        (p.code, p.line, p.column) for p in alone
    ]
