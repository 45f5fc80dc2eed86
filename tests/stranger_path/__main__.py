"""Walk a stranger's path to a tool of their own, and write what happened to `docs/captures`.

    python -m tests.stranger_path

With only the wheel and the docs: a fresh environment, an empty folder, `coterie init --tool`, an
edit, a call, a team with the tool, its test, its run. Fails if a command fails, or if all of it
takes longer than five minutes. Needs a package registry.
"""

import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[2]
TRANSCRIPT = ROOT / "docs" / "captures" / "first-tool.txt"
MAX_SECONDS = 300.0
_INHERITED = re.compile(r"HOME|LANG|LC_\w+|TERM|(PIP|UV|SSL|REQUESTS)_\w+|https?_proxy", re.I)
_PLACES = re.compile(r"(?<![\w.])/(?:[\w.-]+/)+[\w.-]*|file:/\S*")
"""Absolute paths, which belong to one machine."""

INSTALL = ("python3 -m venv env", "env/bin/pip install -qq coterie-*.whl")
PATH = (
    "coterie init --tool demo words",
    # The function gets another argument.
    "sed -i 's/limit: int = 3/limit: int = 3, shortest: int = 1/;"
    " s/words = text.lower().split()/words = [one for one in text.lower().split()"
    " if len(one) >= shortest]/' demo_tools.py",
    "coterie tools show demo_tools:demo",
    "coterie tools call demo_tools:demo"
    ' --arguments \'{"text": "of red of of red blue", "shortest": 3}\'',
    # The team counts longer words only, and its test expects it.
    'sed -i \'s/arguments: { text: "{{ context.text }}" }/arguments:'
    ' { text: "{{ context.text }}", shortest: 3 }/\' config/teams/demo.yml',
    "sed -i 's/context: { text: red red blue }/context: { text: of red of of red blue }/'"
    " config/teams/demo.test.yml",
    "coterie validate config/teams/demo.yml",
    "coterie test",
    "coterie run demo --set text='of red of of red blue'",
)


class Walk:
    """A folder, an environment, and the transcript so far."""

    def __init__(self, folder: Path) -> None:
        kept = {name: value for name, value in os.environ.items() if _INHERITED.fullmatch(name)}
        search = f"{folder / 'env' / 'bin'}{os.pathsep}{os.defpath}"
        self._environment = {**kept, "PATH": search, "NO_COLOR": "1"}
        self._folder = folder
        self.lines: list[str] = []
        self.seconds = 0.0

    def run(self, command: str, within: str = ".") -> None:
        """Run one command as a stranger types it; end the program if it fails."""
        began = time.monotonic()
        done = subprocess.run(
            ["bash", "-c", command],
            cwd=self._folder / within,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        took = time.monotonic() - began
        self.seconds += took
        said = done.stdout.replace(f"{self._folder}{os.sep}", "").rstrip()
        self.lines += [f"$ {command}", *([said] if said else []), f"# {took:.1f} s", ""]
        sys.stdout.write("\n".join(self.lines[-4:]) + "\n")
        if done.returncode != 0:
            sys.exit(f"{command!r} failed with {done.returncode}:\n{done.stdout}")

    def write(self, file: Path) -> None:
        """Write the transcript, without anything of this machine."""
        text = "\n".join([*self.lines, f"# {self.seconds:.0f} s in all"]) + "\n"
        found = _PLACES.search(text)
        if found is not None:
            sys.exit(f"the transcript has a path of this machine: {found[0].strip()}")
        file.write_text(text, encoding="utf-8")


def main() -> None:
    """Build the wheel, which the stranger has, then walk."""
    with tempfile.TemporaryDirectory(prefix="coterie-stranger-") as base:
        folder = Path(base)
        build = (Path(sys.executable).parent / "hatchling", "build", "-t", "wheel", "-d", folder)
        subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
        walk = Walk(folder)
        for command in INSTALL:
            walk.run(command)
        first, *others = PATH
        walk.run(first)
        walk.lines.insert(-2, "$ cd words")
        try:
            for command in others:
                walk.run(command, "words")
        finally:
            subprocess.run(
                [folder / "env/bin/coterie", "server", "--stop"], cwd=folder / "words", check=False
            )
        if walk.seconds > MAX_SECONDS:
            sys.exit(f"it took {walk.seconds:.0f} s, more than {MAX_SECONDS:.0f}")
        walk.write(TRANSCRIPT)


if __name__ == "__main__":
    main()
