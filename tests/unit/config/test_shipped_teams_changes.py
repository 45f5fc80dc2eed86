"""The scripted changes, applied by the real functions, do to the example what they report."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from pydantic import TypeAdapter

from coterie.activities.providers.scripts.script import read_script
from coterie.activities.tool_functions.function_registry import TOOL_FUNCTIONS
from coterie.activities.workspace.function_base import FunctionContext, Workspace
from coterie.activities.workspace.function_failures import FunctionFailure
from coterie.dsl.model.sections.worker_document import CommandSection
from tests.support.documents.shipped import SAMPLE, compiled, script_file

BOUNDARY = "tests/test_discounts.py::test_the_discount_begins_with_the_first_piece_of_its_tier"
ROUNDING = "tests/test_invoice.py::test_ten_pieces_are_discounted_and_half_a_cent_goes_up"
TAX = "tests/test_invoice.py::test_half_a_cent_of_tax_goes_up"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    passed_over = shutil.ignore_patterns("__pycache__", ".coterie", ".pytest_cache")
    return shutil.copytree(SAMPLE, tmp_path / "invoicing", ignore=passed_over)


def red(project: Path) -> list[str]:
    """The tests that fail, run as the project's own configuration says."""
    command: CommandSection = compiled("development", project).trusted.commands["test"]
    argv = [part.replace("{python}", sys.executable) for part in command.run]
    run = subprocess.run(argv, cwd=project, capture_output=True, text=True, check=False)
    assert run.returncode in (0, 1), run.stdout + run.stderr
    return sorted(line.split()[1] for line in run.stdout.splitlines() if line.startswith("FAILED"))


async def apply(project: Path, script: str, task: str, visit: int) -> int:
    """Apply a scripted answer as the coder's plan does; how many files it changed."""
    (answer,) = [
        entry.answer
        for entry in read_script(script_file(script))
        if entry.task == task and (entry.visit or 1) == visit
    ]
    context = FunctionContext(Workspace(project), key=f"{task}#{visit}")
    changes = await TOOL_FUNCTIONS["SemanticIterator.initialize"].call(answer, context)
    result = await TOOL_FUNCTIONS["AssetManager.apply_changes"].call(changes, context)
    applied = TypeAdapter(dict[str, object]).validate_python(result)["applied"]
    return len(TypeAdapter(list[object]).validate_python(applied))


async def test_the_first_change_leaves_one_test_red_and_the_correction_none(project: Path) -> None:
    assert red(project) == [BOUNDARY, ROUNDING]
    assert await apply(project, "development", "engineering/write_changes", 1) == 1
    assert red(project) == [ROUNDING]
    assert await apply(project, "development", "engineering/write_changes", 2) == 1
    assert red(project) == []


async def test_the_new_tests_fit_the_second_time_and_reveal_a_defect(project: Path) -> None:
    with pytest.raises(FunctionFailure, match=r"the file has no line .* the nearest is line"):
        await apply(project, "test_automation", "test_writing/write_changes", 1)
    assert red(project) == [BOUNDARY, ROUNDING]
    assert await apply(project, "test_automation", "test_writing/write_changes", 2) == 2
    assert red(project) == [BOUNDARY, TAX, ROUNDING]
