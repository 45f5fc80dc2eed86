"""A document with thousands of mistakes: each keeps its place, and the report stays small."""

from collections.abc import Iterator

import pytest

from coterie.dsl.compile.compiler import SourceText, compile_sources
from coterie.dsl.errors import InvalidDocument, Problem, listed
from coterie.dsl.problem_details import ProblemText, rule
from coterie.dsl.redaction import RedactedLine, redacted_line
from coterie.dsl.source.collected_problems import MAX_DESCRIBED, Problems
from coterie.dsl.source.nodes import Mark, Place
from coterie.dsl.source.unknown_names import unknown
from coterie.text.problems import problems_text
from tests.support.compiling import CAPABILITIES
from tests.support.documents.mistake_shapes import MISTAKES


@rule("E101")
def wrong(line: int) -> ProblemText:
    return ProblemText(f"wrong {line}", fix="x")


@rule("W501")
def another_code() -> ProblemText:
    return ProblemText("another code", fix="x")


def test_a_problem_beyond_the_limit_of_its_code_keeps_its_place_without_a_text() -> None:
    problems = Problems()
    for line in range(MAX_DESCRIBED + 2):
        problems.report(wrong(line), Place(Mark("a.yml", line + 1, 1), ("a", line)))
    problems.report(another_code(), Place(Mark("a.yml", 1, 1), ("b",)))
    *described, first, second = problems.errors
    assert [one.message for one in described] == [f"wrong {line}" for line in range(MAX_DESCRIBED)]
    assert first.message == "one more problem of this kind, not described: 500 of them are"
    assert (second.line, second.path, second.code) == (MAX_DESCRIBED + 2, "a[501]", "E101")
    assert problems.has("E101", ("a", MAX_DESCRIBED + 1))
    assert [one.message for one in problems.warnings] == ["another code"]


def test_the_facts_of_an_undescribed_name_are_not_worked_out() -> None:
    problems = Problems()
    looked: list[str] = []

    class Known(list[str]):
        def __iter__(self) -> Iterator[str]:
            looked.append("once")
            return super().__iter__()

    for line in range(MAX_DESCRIBED + 5):
        unknown(problems, Place(Mark("a.yml", line + 1, 1), ("a", line)), "team", "b", Known(["c"]))
    assert (len(problems.errors), len(looked)) == (MAX_DESCRIBED + 5, MAX_DESCRIBED)


def test_a_list_of_very_many_names_counts_the_rest() -> None:
    names = [f"n{number:04}" for number in range(1_234)]
    assert listed(names).endswith(", n0099 and 1,134 more")
    assert listed(names[:100]).endswith(", n0098, n0099")


def _problems_of(shape: str, number: int) -> tuple[str, tuple[Problem, ...]]:
    text = MISTAKES[shape](number)
    with pytest.raises(InvalidDocument) as caught:
        compile_sources([SourceText("a.yml", text)], CAPABILITIES, name="a")
    return text, caught.value.problems


@pytest.mark.parametrize("shape", MISTAKES)
def test_the_report_of_twice_the_mistakes_is_twice_as_long(shape: str) -> None:
    lengths: list[int] = []
    for number in (110, 220):
        text, problems = _problems_of(shape, number)
        lengths.append(len(problems_text(problems, lambda _, text=text: text.splitlines())))
    assert lengths[1] < 2.3 * lengths[0]


def test_a_long_line_with_many_problems_is_redacted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []

    def counted(line: str, *, continues: bool) -> RedactedLine:
        read.append(line)
        return redacted_line(line, continues=continues)

    monkeypatch.setattr("coterie.text.problems.redacted_line", counted)
    line = "a: [" + ", ".join(f"x{number}" for number in range(50)) + "]"
    found = [Problem("E101", "a.yml", 1, at + 1, "", "wrong") for at in range(50)]
    problems_text(found, lambda _: [line])
    assert read == [line]
