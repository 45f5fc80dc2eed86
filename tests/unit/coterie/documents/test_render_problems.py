"""A problem is shown with its place, its line, and the way out."""

from pathlib import Path

from coterie.dsl.errors import Problem
from coterie.text.problems import counted, lines_of_file, problems_text, summary

TEXT = "orchestration:\n\tentry_team: drft\n" + "x" * 150 + "here" + "y" * 150 + "\n"


def problem(line: int, column: int, **more: str) -> Problem:
    return Problem(
        "E201",
        "t.yml",
        line,
        column,
        more.get("path", ""),
        "unknown team 'drft'",
        more.get("allowed", ""),
        more.get("fix", ""),
    )


def shown(one: Problem) -> list[str]:
    lines = TEXT.splitlines()
    return problems_text([one], lambda file: lines).splitlines()


def test_the_line_stands_below_with_a_caret_under_the_place() -> None:
    result = shown(
        problem(
            2, 14, path="orchestration.entry_team", allowed="draft", fix="did you mean 'draft'?"
        )
    )
    assert result == [
        "t.yml:2:14: unknown team 'drft' [E201]",
        "     2 |  entry_team: drft",
        "       |              ^",
        "    orchestration.entry_team",
        "    allowed: draft",
        "    fix: did you mean 'draft'?",
    ]


def test_problem_shows_the_part_of_a_long_line_around_its_position() -> None:
    _, line, caret = shown(problem(3, 151))
    assert len(line) <= 130
    assert line[caret.index("^") :].startswith("here")


def test_a_line_that_is_not_there_is_left_out() -> None:
    assert shown(problem(99, 1)) == ["t.yml:99:1: unknown team 'drft' [E201]"]
    assert problems_text([problem(1, 1)], lines_of_file(Path("/nonexistent"))) == (
        "t.yml:1:1: unknown team 'drft' [E201]"
    )


def test_files_are_read_relative_to_the_given_folder(tmp_path: Path) -> None:
    (tmp_path / "t.yml").write_text("a: 1\n")
    assert "     1 | a: 1" in problems_text([problem(1, 1)], lines_of_file(tmp_path))


def test_warnings_are_called_so_and_counted_apart() -> None:
    warning = Problem("W501", "t.yml", 1, 1, "", "no default", severity="warning")
    assert problems_text([warning], lambda file: ()).startswith("t.yml:1:1: warning: no default")
    assert summary([problem(1, 1), problem(2, 1), warning]) == "2 problems, 1 warning"
    assert summary([]) == "no problems"
    assert (counted(1, "event"), counted(1200, "event")) == ("1 event", "1,200 events")
