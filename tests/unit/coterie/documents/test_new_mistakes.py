"""Mistakes in the words of state, graphs, strategies and sessions: each at its place, with its fix.

Each line that is wrong says so itself: `# <- CODE:column a part of the fix`.
"""

import re
from collections.abc import Iterator

import pytest

from coterie.documents.catalog import Catalog
from coterie.documents.compilation import compile_located
from coterie.dsl.errors import InvalidDocument, Problem
from coterie.settings import load
from tests.support.places import DATA

FOLDER = DATA / "new_mistakes"
PARTS = ("parts/first.yml", "parts/second.yml")
_MARK = re.compile(r"# <- ([EW]\d{3}):(\d+) (.*)$")


def written(*names: str) -> Iterator[tuple[str, int, int, str, str]]:
    """What the files say themselves: file, line, column, code, and a part of the fix."""
    for name in names:
        for number, line in enumerate((FOLDER / name).read_text().splitlines(), 1):
            if mark := _MARK.search(line):
                yield name, number, int(mark[2]), mark[1], mark[3]


def problems(name: str) -> list[Problem]:
    catalog = Catalog(load({}, FOLDER))
    with pytest.raises(InvalidDocument) as caught:
        compile_located(catalog, catalog.locate(str(FOLDER / name)))
    return list(caught.value.problems)


@pytest.mark.parametrize(
    ("files", "count"), [(("fifteen.yml", *PARTS), 15 + 2), (("reply.yml",), 1)]
)
def test_each_mistake_in_the_new_words_is_reported_at_its_place_with_its_fix(
    files: tuple[str, ...], count: int
) -> None:
    shown = sorted(problems(files[0]), key=lambda one: (one.file, one.line, one.column))
    wanted = sorted(written(*files))
    found = [(one.file, one.line, one.column, one.code) for one in shown]
    assert found == [one[:4] for one in wanted]
    assert len(found) == count
    for problem, (*_, part) in zip(shown, wanted, strict=True):
        assert part in problem.fix
