"""Whoever starts a run is told of every warning that `coterie validate` has."""

import pytest

from coterie.documents.compilation import print_warnings
from tests.support.compiling import compiled

RESTS = "tasks: [{name: rest, type: wait, duration: 1}]"
TEAM = "orchestration: {entry_team: main, teams: {main: {%s}%s}}\n"
QUESTION = "tasks: [{name: sign, type: approval, prompt: Well?}]"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (TEAM % (RESTS, ""), ""),
        (TEAM % (QUESTION, ""), "1 warning"),
        (TEAM % (RESTS, f", nowhere: {{{RESTS}}}"), "1 warning"),
        (TEAM % (QUESTION, f", nowhere: {{{RESTS}}}"), "2 warnings"),
    ],
    ids=["none", "of the compiler", "of the analysis", "of both"],
)
def test_warnings_of_the_compiler_and_of_the_analysis_are_counted(
    text: str, told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    analysis = print_warnings("a.yml", compiled(text))
    told = told and f"a.yml: {told}, see `coterie validate a.yml`"
    assert capsys.readouterr().err.strip() == told
    assert len(analysis.findings) == text.count("nowhere")
