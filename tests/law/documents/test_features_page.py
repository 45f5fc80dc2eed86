"""docs/features.md judges each feature once, proves what it says yes to, and counts right."""

import re

import pytest

from tests.law.documents.pages import rows, text
from tests.law.documents.test_coverage import functions
from tests.law.sources import ROOT

ROWS = list(rows(text("features.md")))
_TEST = re.compile(r"`(tests/[\w/]+\.py)(?:::(test_\w+))?`")
_STATES = ("yes", "partly", "no")


def test_each_feature_has_one_row_in_order() -> None:
    assert [row["#"] for row in ROWS] == [str(number) for number in range(1, 93)]
    assert len({row["Feature"] for row in ROWS}) == len(ROWS)


def test_the_first_lines_count_the_rows() -> None:
    counts = [sum(row["Coterie"] == state for row in ROWS) for state in _STATES]
    assert sum(counts) == len(ROWS), "a row has another state than yes, partly or no"
    assert "\n{} yes, {} partly, {} no.\n".format(*counts) in text("features.md")


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["#"])
def test_a_yes_is_proved_and_anything_else_has_its_reason(row: dict[str, str]) -> None:
    tests = _TEST.findall(row["Test"])
    where = row["Where, or why not"]
    if row["Coterie"] == "yes":
        assert where
        assert any(name for _, name in tests), "a yes names the test that shows it"
    else:
        assert where.startswith("because "), "partly and no have their reason"
        assert len(where) > len("because the file")
    for file, name in tests:
        assert (ROOT / file).is_file()
        assert not name or name in functions(file)
