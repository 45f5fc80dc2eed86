"""`coterie agent`: mends a project's defects end to end, with a person who allows each change.

A program does the same by `Agent`, on the same server.
"""

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

from tests.law.documents.pages import text
from tests.support.project import Project, project

PROGRAM = re.compile(r"```python\n(# solve.py\n.*?)```\s+```text\n(.*?)```", re.DOTALL)


def verdict(made: Project) -> str:
    """What the project's own tests say, in their last line."""
    command = [sys.executable, "-m", "pytest", "-q", "--no-header", "-p", "no:cacheprovider"]
    done = subprocess.run(command, cwd=made.folder, text=True, capture_output=True, check=False)
    return done.stdout.strip().splitlines()[-1]


def test_an_agent_debugs_a_project_until_its_tests_are_green(tmp_path: Path) -> None:
    with project(tmp_path / "project") as made:
        assert verdict(made).startswith("2 failed")
        allowed = made.folder / "allowed.yml"
        allowed.write_text("- { approval: 'agent/work/*', decision: approve, by: ada }")
        command = re.search(r"^coterie (agent debug .+?) +# no key$", text("systems.md"), re.M)
        assert command is not None
        done = made.coterie(*shlex.split(command[1]), "--decisions", allowed.name)
        assert done.returncode == 0, done.stdout + done.stderr
        assert "success: true" in done.stdout
        assert verdict(made).startswith("9 passed")
        assert_program_of_the_page_runs(made)
        stats = json.loads(made.coterie("stats", "--team", "agent_loop", "--json").stdout)
        assert (stats["runs"], stats["more"], stats["unreadable"]) == (2, False, [])
        assert (stats["teams"][0]["team"], stats["teams"][0]["success_rate"]) == ("agent_loop", 1)
        tools = {row["tool"]: row for row in stats["tools"]}
        assert (tools["CommandRunner.run"]["failed"], tools["Files.list"]["count"]) == (0, 1)


def assert_program_of_the_page_runs(made: Project) -> None:
    found = PROGRAM.search(text("systems.md"))
    assert found is not None
    (made.folder / "solve.py").write_text(found[1])
    done = subprocess.run(
        [sys.executable, "solve.py"],
        cwd=made.folder,
        env=made.environment,
        text=True,
        capture_output=True,
        timeout=120,
        check=False,
    )
    assert done.stdout == found[2], done.stderr
