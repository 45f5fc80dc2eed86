"""Which mutants are tried: a sample with a seed, spread over the deciding modules of each room."""

import random
from collections.abc import Sequence
from pathlib import Path

from tests.mutants.execution_map import ExecutionMap
from tests.mutants.mutations import Mutant, compiles, mutants_of, relative

# What decides; what only shows, reaches the world or holds data is proved in other ways.
DECIDING = {
    "dsl": ("dsl/**/*.py",),
    "workflows": ("workflows/**/*.py",),
    "activities": (
        "activities/*.py",
        "activities/agents/*.py",
        "activities/changes/*.py",
        "activities/processes/*.py",
        "activities/providers/*.py",
        "activities/tool_functions/*.py",
        "activities/storage/*.py",
        "activities/workspace/*.py",
    ),
    "coterie": (
        "coterie/control/fork_point.py",
        "coterie/control/new_forks.py",
        "coterie/display/written_decisions.py",
        "coterie/documents/price_lists.py",
        "coterie/documents/trusted*.py",
        "coterie/documents/worker_trust.py",
        "coterie/replay/*.py",
        "coterie/runs/run_client.py",
        "coterie/testing/**/*.py",
        "coterie/worker/fork_activity.py",
        "coterie/worker/provider_queues.py",
    ),
}
END_TO_END = {
    "coterie/control/": ("commands/test_fork_and_retry.py", "commands/test_control.py"),
    "coterie/display/": ("commands/test_cli_runs.py", "commands/test_control.py"),
    "coterie/documents/": ("test_trust.py", "commands/test_cost.py"),
    "coterie/replay/": ("commands/test_cli_replay.py", "commands/test_fork_and_retry.py"),
    "coterie/runs/": ("commands/test_control.py", "commands/test_cli_runs.py"),
    "coterie/testing/": (
        "team_tests/test_team_tests_decisions.py",
        "team_tests/test_team_tests_command.py",
        "team_tests/test_testing_page.py",
    ),
    "coterie/worker/": ("commands/test_fork_and_retry.py",),
}
"""Commands run in processes of their own, where nothing records which test executes a line. So
mutants of their modules that survive the other tests meet these, under `tests/e2e`."""

SHARES = {"dsl": 0.28, "workflows": 0.36, "activities": 0.24, "coterie": 0.12}


def candidates(root: Path, room: str, executed: ExecutionMap) -> list[Mutant]:
    """Every mutant of a room's deciding modules on a line that a test executes.

    Some are no Python: `draw` leaves those out, since to compile all of them takes a minute.
    """
    found: list[Mutant] = []
    for path in sorted({path for pattern in DECIDING[room] for path in root.glob(pattern)}):
        found += [
            relative(mutant, root)
            for mutant in mutants_of(path, path.read_text())
            if executed.tests_of(path, mutant.line)
        ]
    return found


def end_to_end(mutant: Mutant) -> tuple[str, ...]:
    """The test files that run the command of the mutant's module, from the root of the project."""
    path = mutant.path.as_posix()
    named = (files for prefix, files in END_TO_END.items() if path.startswith(prefix))
    return tuple(f"tests/e2e/{file}" for files in named for file in files)


def at_lines(root: Path, lines: Sequence[str]) -> list[Mutant]:
    """Every mutant of the named lines, each `path:line` from the root of the project.

    Raises:
        ValueError: a name that is no line, or a line without a mutant.
    """
    found: list[Mutant] = []
    for name in lines:
        file, _, number = name.rpartition(":")
        path = root / file
        if not path.is_file() or not number.isdecimal():
            raise ValueError(
                f"{name} is not the path and line of a module: dsl/evaluate/routing.py:66"
            )
        source = path.read_text()
        here = [
            relative(mutant, root)
            for mutant in mutants_of(path, source)
            if mutant.line == int(number) and compiles(mutant, source)
        ]
        if not here:
            raise ValueError(f"{name} has no mutant")
        found += here
    return found


def draw(
    candidates: Sequence[Mutant], number: int, chance: random.Random, root: Path
) -> list[Mutant]:
    """A sample of those that are Python, with at most one mutant of a line."""
    lines: set[tuple[Path, int]] = set()
    drawn: list[Mutant] = []
    for mutant in chance.sample(candidates, len(candidates)):
        if len(drawn) == number:
            break
        is_new = (mutant.path, mutant.line) not in lines
        if is_new and compiles(mutant, (root / mutant.path).read_text()):
            lines.add((mutant.path, mutant.line))
            drawn.append(mutant)
    return drawn
