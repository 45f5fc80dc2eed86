"""Watch a team of agents mend a small project: `make demo`, or `python -m examples.demo`.

Copies `examples/invoicing`, shows its tests red, lets `coterie run development` work on the copy,
and shows what became of it. At a terminal you approve the design yourself; without one a file of
decisions does, and the output says so.
"""

import argparse
import difflib
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

from coterie.server.embedded_server import EmbeddedServer
from coterie.settings import STATE_FOLDER, load

HERE = Path(__file__).resolve().parent
SAMPLE = HERE / "invoicing"
PLACE = HERE.parent / ".coterie-demo" / "invoicing"
DECISIONS = HERE / "demo_decisions.yml"
REQUIREMENT = (
    "The test suite is red. Find the causes and mend the product, not the tests: all tests pass, "
    "and the rules of README.md hold."
)
TESTS = [sys.executable, "-m", "pytest", "-q", "--no-header", "-p", "no:cacheprovider"]


def main(argv: Sequence[str] | None = None) -> int:
    """Run the demo; the exit code of the run, or 1 when the tests are not as they should be."""
    parser = argparse.ArgumentParser(prog="examples.demo", description=__doc__)
    parser.add_argument("--model", help="provider/model; a script plays the model unless given")
    args = parser.parse_args(argv)
    interactive = sys.stdin is not None and sys.stdin.isatty() and sys.stdout.isatty()

    fresh_copy()
    show("A team of agents mends a small project")
    print(f"the project: {shown(PLACE)}, a fresh copy of {shown(SAMPLE)}")

    show("1. Its tests, before")
    if tests_pass():
        print("They are green already, so there is nothing to mend. Is the example changed?")
        return 1

    show("2. The team at work")
    run_id = f"mend-invoicing-{datetime.now().astimezone():%Y%m%d-%H%M%S}"
    code = run_team(run_id, args.model, interactive=interactive)
    if code != 0:
        print(f"\nThe run did not finish (exit code {code}); {shown(PLACE)} is as it left it.")
        return code

    show("3. Its tests, after")
    green = tests_pass()

    show("4. What the team changed")
    print(changes())

    show("5. From here")
    print(next_steps(run_id))
    return 0 if green else 1


def fresh_copy() -> None:
    """Put the sample in its place, new; the server of earlier demos and its data stay."""
    PLACE.mkdir(parents=True, exist_ok=True)
    for old in PLACE.iterdir():
        if old.is_dir() and not old.is_symlink():
            if old.name != STATE_FOLDER:
                shutil.rmtree(old)
        else:
            old.unlink()
    passed_over = shutil.ignore_patterns("__pycache__", ".pytest_cache", STATE_FOLDER)
    shutil.copytree(SAMPLE, PLACE, ignore=passed_over, dirs_exist_ok=True)


def tests_pass() -> bool:
    """Run the project's tests and show which fail, and how many."""
    ended = subprocess.run(TESTS, cwd=PLACE, capture_output=True, text=True, check=False)
    found = [
        line
        for line in ended.stdout.splitlines()
        if line.startswith(("FAILED ", "ERROR ")) or " passed" in line or " failed" in line
    ]
    print("\n".join(found) or ended.stdout + ended.stderr)
    return ended.returncode == 0


def run_team(run_id: str, model: str | None, *, interactive: bool) -> int:
    """`coterie run` as a person would call it, in the project's folder."""
    command = [
        sys.executable,
        "-m",
        "coterie",
        "run",
        "development",
        "--id",
        run_id,
        "--set",
        f"requirement={REQUIREMENT}",
        "--set",
        "project=.",
    ]
    if model is not None:
        command += ["--model", model]
    if interactive:
        print("You will be asked whether the design may be carried out.\n", flush=True)
    else:
        command += ["--decisions", str(DECISIONS)]
        print(
            "There is no terminal, so nobody can be asked: the demo's script decides the approvals "
            f"({shown(DECISIONS)}).\n",
            flush=True,
        )
    # The copy has no virtual environment: its tests run in the demo's, which has pytest.
    process = subprocess.Popen(command, cwd=PLACE, env={**os.environ, "VIRTUAL_ENV": sys.prefix})
    while True:
        try:
            return process.wait()
        except KeyboardInterrupt:  # the command got it too, and knows what to do
            continue


def changes() -> str:
    """The files that differ from the sample, as a diff."""
    lines: list[str] = []
    for old in sorted(SAMPLE.rglob("*")):
        new = PLACE / old.relative_to(SAMPLE)
        if old.is_file() and new.is_file() and old.read_bytes() != new.read_bytes():
            name = str(old.relative_to(SAMPLE))
            before, after = old.read_text().splitlines(), new.read_text().splitlines()
            lines += difflib.unified_diff(before, after, name, name, lineterm="")
    return "\n".join(lines) or "nothing"


def next_steps(run_id: str) -> str:
    """What a person who liked this does next."""
    program = Path(sys.executable).with_name("coterie")
    steps = [
        ("the run in the console", "make console"),
        ("every event of the run", ui_address(run_id) or "in the UI of your Temporal server"),
        (
            "end the server that shows it",
            f"(cd {shown(PLACE)} && {os.path.relpath(program, PLACE)} server --stop)",
        ),
        ("the team, as it is written", "config/teams/development.yml, config/personas/"),
        ("what it compiles to", f"{shown(program)} plan development"),
        (
            "with a real model",
            'make demo ARGS="--model anthropic/claude-sonnet-5-5", with ANTHROPIC_API_KEY set',
        ),
        (
            "on your own project",
            f"copy {shown(PLACE / 'coterie.yml')} into it, say there how its "
            "tests run, then in it:",
        ),
        ("", f"{program} run development --model ... --set requirement=..."),
    ]
    return "\n".join(f"{what:<30}{how}" for what, how in steps)


def ui_address(run_id: str) -> str | None:
    """The run's page in the UI of the embedded server; None when another server was used."""
    settings = load(cwd=PLACE)
    record = EmbeddedServer(settings).record()
    if settings.address is not None or record is None:
        return None
    return f"{record.ui}/namespaces/{settings.namespace}/workflows/{run_id}"


def show(title: str) -> None:
    """A heading."""
    print(f"\n{title}\n{'-' * len(title)}", flush=True)


def shown(path: Path) -> str:
    """A path as a person reads it: relative where it lies below the current folder."""
    here = Path.cwd()
    return str(path.relative_to(here) if path.is_relative_to(here) else path)


if __name__ == "__main__":
    sys.exit(main())
