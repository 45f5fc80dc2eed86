"""Which test files a command finds, and how a recorded one is written."""

from pathlib import Path

import pytest
from pydantic import JsonValue

from coterie.dsl.paths import MISSING
from coterie.dsl.source.yaml_reader import read
from coterie.failures import CommandError
from coterie.settings import load
from coterie.testing.files.case_discovery import find_tests
from coterie.testing.files.case_document import TestDocument
from coterie.testing.files.case_writer import yaml_of
from coterie.testing.files.expectations import as_seconds, shown


def found(folder: Path, *targets: str) -> list[str]:
    settings = load({}, folder)
    return [file.relative_to(folder).as_posix() for file in find_tests(settings, targets)]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    for name in (
        "config/b.test.yml",
        "config/a.yml",
        "config/deep/a.test.yaml",
        "config/deep/node_modules/c.test.yml",
        "config/.venv/d.test.yml",
        "other/z.test.yml",
        "other/notes.txt",
        "empty/none.yml",
    ):
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("cases: []")
    (tmp_path / "config" / "link").symlink_to(tmp_path / "other")
    (tmp_path / "config" / "folder.test.yml").mkdir()
    return tmp_path


def test_without_targets_the_tests_below_the_config_folder_are_found(project: Path) -> None:
    assert found(project) == ["config/b.test.yml", "config/deep/a.test.yaml"]


def test_each_file_of_the_targets_is_found_once_in_their_order(project: Path) -> None:
    assert found(project, "other", "config/deep/a.test.yaml", "config", "other/z.test.yml") == [
        "other/z.test.yml",
        "config/deep/a.test.yaml",
        "config/b.test.yml",
    ]


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("nowhere", "nowhere does not exist"),
        ("config/a.yml", "config/a.yml is not a test file: test files end in .test.yml"),
        ("empty", "no test file in empty; test files end in .test.yml"),
    ],
)
def test_a_target_without_tests_is_refused(project: Path, target: str, message: str) -> None:
    with pytest.raises(CommandError) as raised:
        found(project, "other", target)
    assert str(raised.value) == message


def test_a_project_without_tests_says_where_one_belongs(tmp_path: Path) -> None:
    with pytest.raises(CommandError) as raised:
        found(tmp_path)
    assert str(raised.value).startswith("no test file in config; put one beside a team")
    (tmp_path / "config").mkdir()
    with pytest.raises(CommandError) as raised:
        found(tmp_path)
    assert str(raised.value).startswith(f"no test file in {tmp_path / 'config'}; put one")


PLAIN: dict[str, JsonValue] = {
    "functions": [
        {
            "step": "a",
            "asks": {"message": "Sure?", "schema": {"type": "object"}},
            "data": {"n": [1.0, 2.5, None, True]},
        }
    ],
    "answers": [{"task": "write", "answer": "first\nsecond\n"}],
    "team": "team.yml",
    "context": {
        "texts": ["-1", "+", "1e3", "True", "null", "false", "~", ".5", "yes", "x", "a: b", ""],
        "more": ["naïve"],
    },
    "cases": [{"name": "one"}],
}
WRITTEN = """\
# Recorded.
# Twice.
team: team.yml
context:
  texts:
    - "-1"
    - "+"
    - "1e3"
    - "True"
    - "null"
    - "false"
    - "~"
    - ".5"
    - 'yes'
    - x
    - 'a: b'
    - ""
  more:
    - naïve
cases:
  - name: one
answers:
  - task: write
    answer: |
      first
      second
functions:
  - step: a
    asks:
      message: Sure?
      schema:
        type: object
    data:
      n:
        - 1
        - 2.5
        - null
        - true
"""


def test_a_written_file_reads_back_and_has_what_is_long_at_its_end() -> None:
    text = yaml_of(TestDocument.model_validate(PLAIN), "Recorded.\nTwice.")
    assert list(read(text, "written").entries()) == [
        "team",
        "context",
        "cases",
        "answers",
        "functions",
    ]
    assert text == WRITTEN


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (MISSING, "nothing"),
        (None, "null"),
        ("naïve", '"naïve"'),
        ("x" * 298, f'"{"x" * 298}"'),
        ("x" * 299, f'"{"x" * 299}... [1 more]'),
        ("x" * 2000, f'"{"x" * 299}... [1,702 more]'),
    ],
)
def test_a_value_is_shown_on_one_line_of_three_hundred_characters(
    value: JsonValue, text: str
) -> None:
    assert shown(value) == text


def test_every_duration_in_a_check_becomes_seconds() -> None:
    assert as_seconds({"in_range": ["1m", 2], "equals": "1d"}) == {
        "in_range": [60.0, 2],
        "equals": 86400.0,
    }
    assert as_seconds("soon") == "soon"
