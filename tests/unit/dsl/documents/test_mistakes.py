"""One mistake a file: exactly the problem that is written beside its line, and no other."""

import re
from pathlib import Path

import pytest

from coterie.dsl.compile.compiler import SourceText, compile_sources
from coterie.dsl.errors import InvalidDocument, Problem
from tests.support.engine import CAPABILITIES
from tests.support.places import DATA

BROKEN = DATA / "mistakes"
BASE = SourceText("base.yml", (BROKEN / "base.yml").read_text())
FILES = sorted(file for file in BROKEN.glob("*.yml") if file.name != "base.yml")
WORKER = CAPABILITIES.model_copy(
    update={"commands": ("test",), "providers": ("scripted", "anthropic", "openai")}
)
_MARK = re.compile(r"# <- (.*)$")


def written(text: str) -> list[tuple[int, int, str]]:
    """What the file itself says is wrong: line, column, code."""
    found: list[tuple[int, int, str]] = []
    for number, line in enumerate(text.splitlines(), 1):
        mark = _MARK.search(line)
        for shown in mark[1].split() if mark else ():
            code, _, column = shown.partition(":")
            found.append((number, int(column), code))
    return sorted(found)


def problems(text: str) -> tuple[Problem, ...]:
    with pytest.raises(InvalidDocument) as error:
        compile_sources(
            [BASE, SourceText("broken.yml", text)],
            WORKER,
            name="broken",
        )
    return error.value.problems


def test_base_document_of_the_mistakes_has_no_problem() -> None:
    compile_sources([BASE], WORKER, name="base")


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_broken_file_has_these_problems_no_more_and_no_fewer(file: Path) -> None:
    text = file.read_text()
    found = problems(text)
    assert sorted((p.line, p.column, p.code) for p in found) == written(text)
    assert {problem.file for problem in found} == {"broken.yml"}


def test_fifteen_mistakes_are_fifteen_problems_in_one_pass() -> None:
    text = (BROKEN / "fifteen.yml").read_text()
    assert len(problems(text)) == len(written(text)) == 15


def test_there_are_many_kinds_of_mistakes() -> None:
    found = {code for file in FILES for _, _, code in written(file.read_text())}
    assert len(FILES) >= 60
    assert len(found) >= 30
