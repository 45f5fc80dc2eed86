"""Python tools in a test work on the copy of its workspace, and do not act for good."""

import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import cast

import pytest
from temporalio.client import Client
from temporalio.exceptions import ApplicationError

from coterie.activities.contracts import FunctionRequest
from coterie.dsl.values import JsonValue
from coterie.failures import CommandError
from coterie.settings import load
from coterie.testing.files.case_reader import read_tests
from coterie.testing.simulation.stage import Stage, furnish, prepared_stage
from tests.support.tool_functions import environment

SHOP = """
from pathlib import Path
from coterie import ToolContext, tool

{once}
def empty(context: ToolContext) -> list[str]:
    Path("stock.csv").write_text("")
    (context.workspace / "log.txt").write_text("emptied")
    return [str(Path.cwd()), str(context.workspace), Path("stock.csv").read_text()]

@tool(effect="read")
def leaves() -> str:
    import os
    os.chdir("/")
    return os.getcwd()

@tool(effect="read")
def looks() -> list[str]:
    return sorted(path.name for path in Path().iterdir())
"""
TEAM = """
llm_config: {default_provider: scripted, default_model: demo}
tools: {empty: {skill: "shop:empty", description: Empties the stock.}}
orchestration:
  entry_team: work
  teams: {work: {tasks: [{name: empty, tool: empty, arguments: {}}]}}
"""
TESTS = """
workspace: shelf
cases: [{name: empties, REAL}]
"""


@asynccontextmanager
async def stage(folder: Path, real: str = "", effect: str = "once") -> AsyncGenerator[Stage]:
    (folder / "shelf").mkdir()
    (folder / "shelf" / "stock.csv").write_text("17 nails")
    (folder / "shop.py").write_text(SHOP.replace("{once}", f"@tool(effect={effect!r})"))
    (folder / "coterie.yml").write_text("worker: {tool_packages: [shop]}\n")
    (folder / "team.yml").write_text(TEAM)
    (folder / "team.test.yml").write_text(TESTS.replace(", REAL", real))
    file = read_tests(load({"PATH": os.environ["PATH"]}, folder), folder / "team.test.yml")
    async with prepared_stage(cast("Client", None), file, file.cases[0], "queue") as made:
        yield made


async def called(made: Stage, name: str = "empty") -> JsonValue:
    request = FunctionRequest(skill=f"shop:{name}", input={}, key="run/e1/work/empty#1")
    return (await environment().run(made.functions.call_function, request)).data


async def test_a_tool_of_a_test_writes_into_the_copy_alone(tmp_path: Path) -> None:
    async with stage(tmp_path, ", real: true") as made:
        copy = str(made.folder)
        assert await called(made, "leaves") == "/"
        assert await called(made) == [copy, copy, ""]
        assert await called(made, "looks") == ["log.txt", "stock.csv"]
    assert (tmp_path / "shelf" / "stock.csv").read_text() == "17 nails"
    assert sorted(path.name for path in (tmp_path / "shelf").iterdir()) == ["stock.csv"]


async def test_a_tool_that_acts_for_good_runs_in_no_test_that_does_not_say_so(
    tmp_path: Path,
) -> None:
    async with stage(tmp_path) as made:
        with pytest.raises(ApplicationError, match="has no result for this call") as caught:
            await called(made)
        assert "add `- {step: work/empty, visit: 1, data: ...}` under `functions`" in str(
            caught.value
        )
        assert "add `real: true` to the case" in str(caught.value)
        assert list(made.functions.unanswered) == ["shop:empty in work/empty#1"]
        assert (made.folder / "stock.csv").read_text() == "17 nails"


async def test_a_tool_that_may_act_again_runs_in_every_test(tmp_path: Path) -> None:
    async with stage(tmp_path, effect="idempotent") as made:
        assert isinstance(await called(made), list)
        assert (made.folder / "stock.csv").read_text() == ""


@pytest.mark.parametrize("kind", ["file", "folder"])
def test_a_link_out_of_the_workspace_is_refused(tmp_path: Path, kind: str) -> None:
    source, outside = tmp_path / "source" / "deep", tmp_path / "outside"
    source.mkdir(parents=True)
    (source / "near").symlink_to("..", target_is_directory=True)
    outside.mkdir()
    (outside / "real.csv").write_text("17 nails")
    (source / "link").symlink_to(outside if kind == "folder" else outside / "real.csv")
    with pytest.raises(CommandError, match=r"^deep/link of .* is a link that leads out of the"):
        furnish(tmp_path / "case", tmp_path / "source", {})
