"""The page of errors shows problems as the program prints them, and lists what it lists."""

import re
from pathlib import Path

import pytest

from coterie.cli import main
from coterie.dsl.model.steps import STEP_KINDS
from tests.law.documents.pages import chapters, text

TEAM = """\
orchestration:
  teams:
    draft:
      tasks:
      - { name: rest, type: wait, duration: 1s }
      - type: aproval
        name: sign_off
        prompt: "Go on?"
  entry_team: draft
"""


def test_the_first_sample_of_the_page_is_what_validate_prints(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "team.yml").write_text(TEAM)
    monkeypatch.chdir(tmp_path)
    main(["validate", "team.yml"])
    sample = re.search(r"^```text\n(.*?)^```$", text("errors.md"), re.MULTILINE | re.DOTALL)
    assert sample is not None
    assert capsys.readouterr().out == sample[1]


def test_the_cure_of_an_unknown_kind_lists_every_kind_in_the_program_s_order() -> None:
    chapter = chapters("errors.md")["E104 unknown step kind"]
    listed = re.search(r"^Fix: use one of these kinds: (.*?)\.$", chapter, re.MULTILINE | re.DOTALL)
    assert listed is not None
    assert tuple(re.split(r",\s+", listed[1])) == STEP_KINDS
