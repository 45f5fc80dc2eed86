"""The page about testing teams: its examples run, and its report is what such a test prints."""

import re
from pathlib import Path

import pytest
from temporalio.client import Client

from coterie.testing.case_report import result_text
from coterie.testing.files.case_document import (
    CaseDocument,
    ExpectDocument,
    FunctionResultDocument,
    TestDocument,
    TrailCheck,
)
from tests.support.team_tests import failures_text, read, results

PAGE = (Path(__file__).parents[3] / "docs" / "testing.md").read_text()
FILES = dict(re.findall(r"```yaml\n# (\S+)\n(.*?)```", PAGE, re.DOTALL))
REPORT = re.findall(r"```\n(FAIL .*?)```", PAGE, re.DOTALL)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with the files of the page."""
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    return tmp_path


async def test_every_example_is_as_expected(skipping_client: Client, folder: Path) -> None:
    files = [read(folder / name) for name in FILES if ".test." in name]
    assert len(files) == 4
    assert failures_text(await results(skipping_client, *files)) == ""


async def test_the_report_is_what_a_wrong_expectation_prints(
    skipping_client: Client, folder: Path
) -> None:
    file = folder / "review.test.yml"
    text = file.read_text()
    assert text.count("good: false") == 1
    file.write_text(text.replace("good: false", "good: true"))
    first, _ = await results(skipping_client, read(file))
    printed = re.sub(r"\(\d+\.\d s\)", "(0.4 s)", result_text(first))
    assert [printed.strip()] == [report.strip() for report in REPORT]


def test_the_page_names_every_key() -> None:
    for model in (TestDocument, CaseDocument, ExpectDocument, FunctionResultDocument, TrailCheck):
        for name in model.model_fields:
            assert f"`{name}`" in PAGE, f"{model.__name__}.{name}"
