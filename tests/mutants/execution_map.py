"""Which tests execute a line: measured once by running them, then read from a file."""

import os
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import coverage

ROOT = Path(__file__).parents[2]
LEVELS = ("tests/unit", "tests/law", "tests/activity", "tests/replay", "tests/workflow")
DATA = ROOT / ".coverage.mutants"


@dataclass(frozen=True)
class ExecutionMap:
    """The tests of each line, the cheapest and most specific first."""

    tests: Mapping[Path, Mapping[int, tuple[str, ...]]]

    def tests_of(self, path: Path, line: int) -> tuple[str, ...]:
        """The ids of the tests that execute a line of a file, best first."""
        return self.tests.get(path, {}).get(line, ())


def measure() -> None:
    """Run every test below the command line once, and record what each executes."""
    for old in ROOT.glob(f"{DATA.name}*"):
        old.unlink()
    environment = os.environ | {"MUTANTS_COVERAGE": str(DATA)}
    subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-n",
            "2",
            "--dist",
            "loadfile",
            "-p",
            "tests.mutants.observer",
            *LEVELS,
        ],
        cwd=ROOT,
        env=environment,
        check=False,
    )
    whole = coverage.Coverage(data_file=str(DATA), config_file=False)
    whole.combine([str(ROOT)])
    whole.save()


def read() -> ExecutionMap:
    """Read the last measurement.

    Raises:
        FileNotFoundError: nothing was measured yet.
    """
    if not DATA.exists():
        raise FileNotFoundError(DATA)
    failed_file = DATA.with_name(f"{DATA.name}.failed")
    failed = set(failed_file.read_text().splitlines()) if failed_file.exists() else set[str]()
    data = coverage.CoverageData(str(DATA))
    data.read()
    contexts: dict[Path, dict[int, list[str]]] = {}
    width: Counter[str] = Counter()
    for name in data.measured_files():
        lines = data.contexts_by_lineno(name)
        here = contexts.setdefault(Path(name), {})
        for line, tests in lines.items():
            here[line] = [test for test in tests if test and test not in failed]
            width.update(here[line])

    def cost(test: str) -> tuple[int, int, str]:
        return (level_of(test), width[test], test)

    return ExecutionMap(
        {
            path: {line: varied(sorted(tests, key=cost)) for line, tests in lines.items()}
            for path, lines in contexts.items()
        }
    )


def level_of(test: str) -> int:
    """Where a test stands among the levels, the cheapest 0."""
    return next((n for n, folder in enumerate(LEVELS) if test.startswith(folder)), len(LEVELS))


def varied(tests: Sequence[str]) -> tuple[str, ...]:
    """Within a level, the first test of each file before the second of any."""
    seen: Counter[str] = Counter()
    places: dict[str, tuple[int, int]] = {}
    for test in tests:
        file = test.partition("::")[0]
        places[test] = (level_of(test), seen[file])
        seen[file] += 1
    return tuple(sorted(tests, key=places.__getitem__))
