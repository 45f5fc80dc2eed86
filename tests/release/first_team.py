"""Do what a newcomer does, with the wheel alone: a project, its tests, a run with an approval."""

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

from tests.release.bill import installed
from tests.release.build import BuildFailed, run

_KEPT = ("PATH", "LANG", "TMPDIR")
"""No key, no setting of this machine, and no other Python."""

_DECISIONS = '- { approval: "*", decision: approve, by: ann }\n'


def first_team(uv: str, root: Path, work: Path, wheel: Path) -> Iterator[str]:
    """Install the wheel without extras, and run a first team; yield what has worked.

    Raises:
        BuildFailed: A command has failed.
    """
    pinned = work / "core.txt"
    options = ("--frozen", "--quiet", "--no-dev", "--no-emit-project", "--no-header")
    run((uv, "export", *options, "--output-file", pinned), root)
    python = installed(uv, work / "core", wheel, pinned)
    newcomer = Newcomer(python.with_name("coterie"), work / "newcomer")
    yield f"a fresh environment has {newcomer.say('--version').splitlines()[0]}"
    newcomer.say("init", "notes")
    newcomer.enter("notes")
    cases = newcomer.say("test").splitlines()
    yield f"the tests of a new project pass: {len(cases)} cases"
    newcomer.write("decisions.yml", _DECISIONS)
    try:
        change = ("--set", "changes=the search is faster")
        newcomer.say("run", "notes", *change, "--id", "first", "--decisions", "decisions.yml")
        result = json.loads(newcomer.say("result", "first", "--json"))
        yield f"the first team ended as {result['end']}, without a key"
    finally:
        newcomer.say("server", "--stop")


class Newcomer:
    """Somebody with one program and an empty home."""

    def __init__(self, program: Path, home: Path) -> None:
        self._program, self._home, self._at = program, home, home
        home.mkdir()

    def enter(self, folder: str) -> None:
        """Go into a folder."""
        self._at = self._at / folder

    def write(self, name: str, text: str) -> None:
        """Write a file here."""
        (self._at / name).write_text(text, encoding="utf-8")

    def say(self, *words: str) -> str:
        """Run a command; return what it prints.

        Raises:
            BuildFailed: It failed, or took more than two minutes.
        """
        kept = {name: value for name, value in os.environ.items() if name in _KEPT}
        try:
            done = subprocess.run(
                (self._program, *words),
                cwd=self._at,
                env={**kept, "HOME": str(self._home)},
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                check=False,
                timeout=120,
            )
        except subprocess.TimeoutExpired:
            raise BuildFailed(f"coterie {words[0]} did not end within two minutes") from None
        if done.returncode != 0:
            raise BuildFailed(f"coterie {' '.join(words)}:\n{done.stdout}{done.stderr}")
        return done.stdout
