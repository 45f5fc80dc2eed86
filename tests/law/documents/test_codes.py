"""Every code of a problem has one page of explanation, and no page is about nothing."""

import re
from typing import get_args

from coterie.dsl.problem_codes import Code
from tests.law.sources import ROOT, modules

PAGE = (ROOT / "docs/errors.md").read_text()
CODES = set(get_args(Code))


def test_every_code_has_one_heading_and_every_heading_a_code() -> None:
    headings = re.findall(r"^## ([EW]\d{3}) \S", PAGE, re.MULTILINE)
    assert sorted(headings) == sorted(CODES)


def test_every_code_says_what_it_means_shows_an_example_and_tells_the_fix() -> None:
    for section in re.split(r"^## ", PAGE, flags=re.MULTILINE)[1:]:
        code = section[:4]
        assert "```" in section, f"{code} has no example"
        assert "\nFix: " in section, f"{code} tells no fix"


def test_every_code_is_the_code_of_a_rule_or_of_a_file_that_cannot_be_read() -> None:
    rule = r'(?:@rule\(|\[Code\] = |^    "[^"]+": )"([EW]\d{3})"'
    rules = {
        code
        for room in ("dsl", "coterie")
        for _, file in modules(room)
        for code in re.findall(rule, file.read_text(), re.MULTILINE)
    }
    assert rules | {"E001"} == CODES  # E001: `coterie` reads files


def test_no_call_chooses_a_code() -> None:
    choices = [
        f"{name}: {call}"
        for name, file in modules("dsl")
        for call in re.findall(r"(?:note|report|unknown)\w*\([^()]*\"[EW]\d{3}\"", file.read_text())
    ]
    assert choices == []
