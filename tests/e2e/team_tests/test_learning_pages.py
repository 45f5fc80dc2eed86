"""The pages for learners: their files are valid, their commands print what the pages show."""

import os
import shlex
import tempfile
import time
from pathlib import Path

import pytest
from temporalio.client import Client

from tests.support.command_pages import PageCommand, PageFile, page_steps, write_files
from tests.support.programs.command_server import command_server
from tests.support.project import BIN, Project, project
from tests.support.team_tests import failures_text, read, results

_ALL_PAGES = os.environ.get("COTERIE_TEST_PAGES") == "1"
"""`debugging.md` takes half a minute: set it after a change of what commands print."""

PAGES = ("tutorial.md", "debugging.md") if _ALL_PAGES else ("tutorial.md",)

PATTERNS = ("patterns.md", "agent-patterns.md")

LOOKS = ("pending", "status", "why", "show", "result", "cost", "runs")
"""Commands that only look: the page shows what they print once the run has come so far."""


async def test_every_pattern_passes_its_tests(skipping_client: Client, tmp_path: Path) -> None:
    files = [file for page in PATTERNS for file in write_files(page, tmp_path)]
    tests = [read(file) for file in files if file.name.endswith(".test.yml")]
    assert len(tests) == 13
    assert failures_text(await results(skipping_client, *tests)) == ""


def test_every_pattern_is_without_problems(tmp_path: Path) -> None:
    files = [file for page in PATTERNS for file in write_files(page, tmp_path)]
    whole = [file for file in files if file.parent == tmp_path]  # the others are included
    names = [file.name for file in whole if ".test." not in file.name]
    words = ("validate", "--strict", *names)
    done = command_server().run(words, tmp_path, os.environ, 120)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("page", PAGES)
def test_commands_of_a_page_print_what_it_shows(page: str, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with project(tmp_path / "folder", sample=tmp_path / "empty") as made:
        for step in page_steps(page):
            match step:
                case PageFile():
                    (made.folder / step.name).write_text(step.text)
                case PageCommand():
                    _follow(made, step)


def _follow(made: Project, step: PageCommand) -> None:
    """Run a command of a page as its reader does, and compare what it prints."""
    program, *arguments = shlex.split(step.line)
    assert program == "coterie", step.line
    if arguments[-1] == "&":
        made.begin(*arguments[:-1])
        return
    if arguments[0] in LOOKS:
        end = time.monotonic() + 60
        while not step.is_printed_as(_printed(made, arguments)[1]) and time.monotonic() < end:
            time.sleep(0.1)  # between two looks
    code, output = _printed(made, arguments)
    assert step.is_printed_as(output), f"$ {step.line}\n{output}\nthe page:\n{step.printed}"
    assert code == step.exit_code, f"$ {step.line}\n{output}"


def _printed(made: Project, arguments: list[str]) -> tuple[int, str]:
    environment = {**made.environment, "PATH": f"{BIN}:{os.environ['PATH']}"}
    with (
        open(os.devnull, "rb") as nothing,
        tempfile.TemporaryFile("w+", encoding="utf-8") as output,
    ):
        files = (nothing.fileno(), output.fileno(), output.fileno())
        command = command_server().begin(arguments, made.folder, environment, files)
        try:
            code = command.wait(120)
        finally:
            command.kill()  # unless it has ended
        output.seek(0)
        return code, output.read()
