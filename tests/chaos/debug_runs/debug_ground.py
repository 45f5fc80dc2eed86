"""A project with the source of a real package, a planted defect, and an agent that mends it."""

import shutil
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from evals.packages.planting import SUITES, copy_packages, planted
from tests.support.programs.command_server import Running
from tests.support.project import Project, project

SCRIPT = SUITES / "scripts" / "agent_loop_packages.yml"
RUN = "mend"
FILE = "mdurl/_encode.py"
ISSUE = 'encode("/a%20") gives /a%2520. Mend it without a change of the tests, and commit it.'
_AUTHOR = ("-c", "user.name=ada", "-c", "user.email=ada@example.org")


@dataclass(frozen=True, slots=True)
class DebugGround:
    """The project, and what its tests and its commits say."""

    shop: Project

    def begin(self) -> Running:
        """Start the agent: `coterie agent debug`, which serves its run itself."""
        return self.shop.begin(
            "agent", "debug", ISSUE, "--files", FILE, "--id", RUN, "--decisions", "allowed.yml"
        )

    def resume(self) -> Running:
        """Continue after a kill, as a person does."""
        return self.shop.begin("run", "--resume", RUN, "--decisions", "allowed.yml")

    def verdict(self) -> str:
        """What the tests of the package say, in their last line."""
        command = [sys.executable, "-m", "pytest", "-q", "--no-header", "-p", "no:cacheprovider"]
        done = subprocess.run(
            command, cwd=self.shop.folder, text=True, capture_output=True, check=False
        )
        return done.stdout.strip().splitlines()[-1].partition(" in ")[0]

    def git(self, *arguments: str) -> str:
        """Run git in the project."""
        done = subprocess.run(
            ["git", *_AUTHOR, *arguments],
            cwd=self.shop.folder,
            text=True,
            capture_output=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def commits(self) -> list[str]:
        """The subjects of all commits, the newest first."""
        return self.git("log", "--format=%s").splitlines()

    def writes(self) -> int:
        """How many changes of files took effect: each leaves a backup of its own."""
        backups = self.shop.folder / ".coterie" / "backups"
        return sum(one.is_dir() for one in backups.iterdir()) if backups.exists() else 0


@contextmanager
def debug_ground(folder: Path) -> Generator[DebugGround]:
    """Make the project with the defect committed; nothing is left running afterwards."""
    with project(folder, sample=SUITES / "packages") as shop:
        copy_packages(folder)
        (folder / FILE).write_text(planted(FILE))
        shutil.copy(SCRIPT, folder / "answers.yml")
        provider = {"answers": "answers.yml", "log": "calls.jsonl"}
        shop.configure(
            llm_config={"default_provider": "scripted", "providers": {"scripted": provider}}
        )
        allowed = "- { approval: 'agent/work/*', decision: approve, by: ada }\n"
        (folder / "allowed.yml").write_text(allowed)
        ground = DebugGround(shop)
        ground.git("init", "--quiet", "--initial-branch=main")
        ground.git("config", "user.name", "ada")
        ground.git("config", "user.email", "ada@example.org")
        ground.git("add", "mdurl", "protego", "tests")
        ground.git("commit", "--quiet", "--message", "Take the packages over")
        yield ground
