"""Answers as models give them, from text to files: each gives the meant files or is named.

A case is a folder in `change_corpus`: `answer.txt`, the project `before`, and either the
project `after` or a `problem.txt` with what the failure has to say, a line for each thing.
"""

from pathlib import Path
from shutil import copytree

import pytest

from coterie.activities.tool_functions.asset_manager import apply_set
from coterie.activities.tool_functions.semantic_iterator import initialize
from coterie.activities.workspace.function_base import FunctionContext, Workspace
from coterie.activities.workspace.function_failures import FunctionFailure, FunctionRefusal
from tests.support.places import DATA

CORPUS = DATA / "change_corpus"
CASES = sorted(path for path in CORPUS.iterdir() if path.is_dir())
FINE = [case for case in CASES if (case / "after").is_dir()]
BAD = [case for case in CASES if (case / "problem.txt").is_file()]


def tree(root: Path) -> dict[str, bytes]:
    return {
        path.relative_to(root).as_posix(): path.read_bytes()
        for path in sorted(root.rglob("*"))
        if path.is_file() and ".coterie" not in path.parts
    }


def project(case: Path, root: Path) -> FunctionContext:
    copytree(case / "before", root, dirs_exist_ok=True)
    return FunctionContext(Workspace(root), key="run/1/apply")


async def read_and_apply(case: Path, context: FunctionContext) -> None:
    changes = await initialize((case / "answer.txt").read_bytes().decode(), context)
    apply_set(context.workspace, changes, context.key)


def test_every_case_says_what_becomes_of_it() -> None:
    assert len(CASES) > 60
    assert set(FINE) | set(BAD) == set(CASES)
    assert not set(FINE) & set(BAD)


@pytest.mark.parametrize("case", FINE, ids=lambda case: case.name)
async def test_a_usable_answer_gives_exactly_the_meant_files(case: Path, tmp_path: Path) -> None:
    await read_and_apply(case, project(case, tmp_path))
    assert tree(tmp_path) == tree(case / "after")


@pytest.mark.parametrize("case", FINE, ids=lambda case: case.name)
async def test_a_usable_answer_applied_again_changes_nothing(case: Path, tmp_path: Path) -> None:
    context = project(case, tmp_path)
    await read_and_apply(case, context)
    await read_and_apply(case, context)
    assert tree(tmp_path) == tree(case / "after")


@pytest.mark.parametrize("case", BAD, ids=lambda case: case.name)
async def test_an_unusable_answer_is_named_and_changes_nothing(case: Path, tmp_path: Path) -> None:
    context = project(case, tmp_path)
    with pytest.raises((FunctionFailure, FunctionRefusal)) as caught:
        await read_and_apply(case, context)
    for line in (case / "problem.txt").read_text().splitlines():
        assert line in str(caught.value)
    assert tree(tmp_path) == tree(case / "before")
