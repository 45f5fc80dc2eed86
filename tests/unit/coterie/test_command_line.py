"""The words of a call, in whatever order a person has them."""

import pytest

from coterie.commands.parser import parse_command


@pytest.mark.parametrize(
    "words",
    [
        ["approve", "run", "team/sign#1", "--by", "ada"],
        ["approve", "run", "--by", "ada", "team/sign#1"],
        ["approve", "--by", "ada", "run", "team/sign#1"],
    ],
)
def test_options_stand_before_between_or_after_names(words: list[str]) -> None:
    verb, given = parse_command(words)
    assert (verb, given.run, given.request, given.by) == ("approve", "run", "team/sign#1", "ada")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["pause"], "the following arguments are required: RUN"),
        (["pause", "run", "--whom", "ann"], "unrecognized arguments: --whom ann"),
        (["show", "run", "request", "more"], "unrecognized arguments: more"),
    ],
)
def test_command_line_reports_missing_and_unknown_arguments(
    words: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        parse_command(words)
    assert message in capsys.readouterr().err
