"""What docs/systems.md promises without a key: each of these commands reaches its end."""

import re
import shlex
from pathlib import Path

from tests.law.documents.pages import text
from tests.support.project import Project, project

PAGE = text("systems.md")
COMMANDS = re.findall(r"^coterie (.+?) +# no key$", PAGE, re.MULTILINE)
TALK = re.search(
    r"Without a key, after `coterie (.+?)`.+?the script knows (.+?)\n\n", PAGE, re.DOTALL
)
MENDS = 'agent run "Make'
"""What changes the project; tests/e2e/systems/test_agent.py has the command that debugs."""


def run(made: Project, command: str) -> str:
    """Run a command of the page as a person who allows each call; what it printed."""
    done = made.coterie(*shlex.split(command), "--decisions", "allowed.yml")
    assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
    return done.stdout


def allowing(made: Project) -> Project:
    (made.folder / "allowed.yml").write_text("- { approval: '*', decision: approve, by: ada }\n")
    return made


def test_a_query_and_a_simple_goal_need_no_key(tmp_path: Path) -> None:
    simple = [one for one in COMMANDS if not one.startswith((MENDS, "agent debug"))]
    assert len(simple) == 4
    with project(tmp_path / "project") as made:
        for command in simple:
            shown = run(allowing(made), command)
            assert ("5050" if command.startswith("run coordinator") else "success: true") in shown


def test_a_goal_that_changes_the_project_needs_no_key(tmp_path: Path) -> None:
    [command] = [one for one in COMMANDS if one.startswith(MENDS)]
    with project(tmp_path / "project") as made:
        assert "success: true" in run(allowing(made), command)


def test_the_questions_of_the_page_are_answered_without_a_key(tmp_path: Path) -> None:
    assert TALK is not None
    questions = re.findall(r'"([^"]+)"', TALK[2])
    assert len(questions) == 3
    with project(tmp_path / "project") as made:
        (made.folder / "messages.txt").write_text("\n".join(questions))
        assert made.coterie(*shlex.split(TALK[1])).returncode == 0
        done = made.coterie("chat", "tool_router", "--script", "messages.txt")
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("Sources: ") == 2
    for words in ("Half a cent is rounded up", "From 10 pieces", "I cannot help with that"):
        assert words in done.stdout
