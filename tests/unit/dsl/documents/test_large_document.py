"""A thousand lines are checked like ten: every mistake at its place, and no other."""

import pytest

from coterie.dsl.analysis.findings import analysed, warnings
from tests.support.compiling import compiled, problems_of
from tests.support.documents.large_document import large_document

MISTAKES = {
    14: ("{% endif %}", "", "E301"),
    35: ("Discovery.collect", "Discovery.colect", "E204"),
    245: ("verdict", "verdct", "E210"),
    381: ("worker", "wroker", "E202"),
    523: ("carefully", "one", "E208"),
    690: ("2d", "soon", "E103"),
    771: ("wait", "wiat", "E104"),
    868: ("judge", "judg", "E207"),
    935: ("exists", "exist", "E401"),
    984: ("team_59", "team_95", "E201"),
}
"""`{line: (what stands there, what is written instead, the code)}`."""


def mistaken(*lines: int) -> str:
    """The document with the mistakes of these lines."""
    text = large_document().splitlines()
    for line in lines:
        old, new, _ = MISTAKES[line]
        assert text[line - 1].count(old) == 1, text[line - 1]
        text[line - 1] = text[line - 1].replace(old, new)
    return "\n".join(text)


def places(text: str) -> list[tuple[str, int, int]]:
    """Code, line and column of each problem, in reading order."""
    return [(one.code, one.line, one.column) for one in problems_of(text)]


def test_large_document_has_a_thousand_lines_and_no_mistake() -> None:
    made = compiled(large_document())
    assert len(large_document().splitlines()) == 1000
    assert len(made.plan.teams) == 60
    assert sum(len(team.steps) for team in made.plan.teams.values()) == 300
    assert warnings(made, analysed(made)) == []


def test_ten_mistakes_are_reported_each_at_its_place_and_nothing_else() -> None:
    assert places(mistaken(*MISTAKES)) == [
        ("E301", 14, 11),
        ("E204", 35, 36),
        ("E210", 245, 56),
        ("E202", 381, 24),
        ("E208", 528, 19),
        ("E103", 690, 88),
        ("E104", 771, 32),
        ("E207", 868, 48),
        ("E401", 935, 61),
        ("E201", 984, 18),
    ]


@pytest.mark.parametrize("line", MISTAKES)
def test_each_mistake_is_reported_alike_when_it_is_the_only_one(line: int) -> None:
    [alone] = places(mistaken(line))
    assert alone[0] == MISTAKES[line][2]
    assert alone in places(mistaken(*MISTAKES))
