"""Every code of a problem has one page of explanation, and no page is about nothing."""

import re
from typing import get_args

from coterie.dsl.errors import Code
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


def test_every_code_is_used_by_the_language_or_where_files_are_read() -> None:
    used = {
        code
        for room in ("dsl", "coterie")
        for name, file in modules(room)
        if name != "dsl.errors"
        for code in re.findall(r"\"([EW]\d{3})\"", file.read_text())
    }
    assert used == CODES
