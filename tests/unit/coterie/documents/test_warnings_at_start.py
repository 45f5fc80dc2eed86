"""A start reports every warning that `coterie validate` has."""

import pytest

from coterie.documents.compilation import print_warnings
from tests.support.compiling import compiled

RESTS = "tasks: [{name: rest, type: wait, duration: 1}]"
TEAM = "orchestration: {entry_team: main, teams: {main: {%s}%s}}\n"
QUESTION = "tasks: [{name: sign, type: approval, prompt: Well?}]"


@pytest.mark.parametrize(
    ("text", "warning"),
    [
        (TEAM % (RESTS, ""), ""),
        (TEAM % (QUESTION, ""), "1 warning"),
        (TEAM % (RESTS, f", nowhere: {{{RESTS}}}"), "1 warning"),
        (TEAM % (QUESTION, f", nowhere: {{{RESTS}}}"), "2 warnings"),
    ],
    ids=["none", "of the compiler", "of the analysis", "of both"],
)
def test_warnings_of_the_compiler_and_of_the_analysis_are_counted(
    text: str, warning: str, capsys: pytest.CaptureFixture[str]
) -> None:
    analysis = print_warnings("a.yml", compiled(text))
    warning = warning and f"a.yml: {warning}, see `coterie validate a.yml`"
    assert capsys.readouterr().err.strip() == warning
    assert len(analysis.findings) == text.count("nowhere")
