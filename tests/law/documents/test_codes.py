"""Every code of a problem has one page of explanation, and no page is about nothing."""

import re

from coterie.explaining.code_pages import known_codes
from tests.law.sources import ROOT, modules

PAGE = (ROOT / "docs/errors.md").read_text()
SOURCES = {
    name: file.read_text()
    for room in ("dsl", "activities", "workflows", "coterie")
    for name, file in modules(room)
}


def test_every_code_is_the_code_of_a_rule_and_has_one_heading() -> None:
    rule = r'(?:@rule\(|^    "[^"]+": |: Code = (?:field\(default=)?)"([EW]\d{3})"'
    rules = {code for text in SOURCES.values() for code in re.findall(rule, text, re.MULTILINE)}
    assert sorted(known_codes()) == sorted(rules)


def test_no_code_is_misspelt() -> None:
    codes = {
        (name, code)
        for name, text in SOURCES.items()
        for code in re.findall(r'"([EW]\d{3})"', text)
    }
    assert {(name, code) for name, code in codes if code not in known_codes()} == set()


def test_every_code_says_what_it_means_shows_an_example_and_tells_the_fix() -> None:
    for section in re.split(r"^## ", PAGE, flags=re.MULTILINE)[1:]:
        code = section[:4]
        assert "```" in section, f"{code} has no example"
        assert "\nFix: " in section, f"{code} tells no fix"


def test_no_call_chooses_a_code() -> None:
    choices = [
        f"{name}: {call}"
        for name, text in SOURCES.items()
        for call in re.findall(r"(?:note|report|unknown|add|Problem)\w*\([^()]*\"[EW]\d{3}\"", text)
    ]
    assert choices == []
