"""Break deciding code on purpose, one place at a time, and count how often a test notices.

    python -m tests.mutants --number 150 --seed 7
    python -m tests.mutants --lines dsl/paths.py:66 --tests tests/unit/dsl/test_paths_laws.py

The first call runs the tests once to learn which test executes which line (`--measure` does so
again). `--lines` tries every mutant of some lines instead of a sample; `--tests` names tests that
are newer than what was measured. The exit code is 1 when less than 95 % of the mutants that count
are killed.
"""

import argparse
import random
import sys
import tempfile
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue

from tests.mutants import execution_map
from tests.mutants.execution_map import ROOT, ExecutionMap
from tests.mutants.mutations import Mutant
from tests.mutants.report import REQUIRED, Tried, lines, read_equivalents, score
from tests.mutants.sample import DECIDING, SHARES, at_lines, candidates, draw, end_to_end
from tests.mutants.trial import copy_project, passes, try_mutant


def tell(line: str) -> None:
    """Show a line of progress at once."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def try_all(
    mutants: Sequence[Mutant], executed: ExecutionMap, new: Sequence[str], jobs: int
) -> list[Tried]:
    """Try each mutant in one of as many copies of the project as there are jobs.

    Args:
        new: tests that are not in the map; they run first.
    """
    with tempfile.TemporaryDirectory(prefix="coterie-mutants-") as folder:
        copies: SimpleQueue[Path] = SimpleQueue()
        projects = [Path(folder) / str(number) / "project" for number in range(jobs)]
        for project in projects:
            copy_project(ROOT, project)
            copies.put(project)
        if new and not passes(new, projects[0]):
            raise ValueError(f"{' '.join(new)} fails without a mutant and can judge none")

        def one(mutant: Mutant) -> Tried:
            copy = copies.get()
            try:
                tests = executed.tests_of(ROOT / mutant.path, mutant.line)
                verdict = try_mutant(mutant, (*new, *tests), copy, end_to_end(mutant))
                tried = Tried(mutant, verdict)
            finally:
                copies.put(copy)
            tell(f"{tried.verdict.value}: {mutant.described()}")
            return tried

        with ThreadPoolExecutor(jobs) as pool:
            return list(pool.map(one, mutants))


def choose(args: argparse.Namespace, executed: ExecutionMap) -> Mapping[str, Sequence[Mutant]]:
    """The mutants to try, by room: those of the named lines, or a sample."""
    if args.lines:
        return {"named lines": at_lines(ROOT, args.lines)}
    chance = random.Random(args.seed)
    whole = sum(SHARES[room] for room in args.rooms)
    return {
        room: draw(
            candidates(ROOT, room, executed),
            round(args.number * SHARES[room] / whole),
            chance,
            ROOT,
        )
        for room in args.rooms
    }


def parsed() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.mutants",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--number", type=int, default=150, help="how many mutants (150)")
    parser.add_argument("--seed", type=int, help="of the sample")
    parser.add_argument("--rooms", nargs="*", default=list(DECIDING), choices=list(DECIDING))
    parser.add_argument("--lines", nargs="+", help="every mutant of these, each path:line")
    parser.add_argument("--tests", nargs="+", default=[], help="that are not measured yet")
    parser.add_argument("--jobs", type=int, default=2, help="mutants at the same time (2)")
    parser.add_argument("--measure", action="store_true", help="learn anew who runs what")
    args = parser.parse_args()
    if args.seed is None:
        args.seed = random.SystemRandom().randrange(10_000)
    return args


def main() -> int:
    """Try a sample or what the arguments name, report."""
    args = parsed()
    if not args.lines:
        tell(f"{args.number} mutants, seed {args.seed}")
    if args.measure or not (args.tests or execution_map.DATA.exists()):
        execution_map.measure()
    executed = execution_map.read() if execution_map.DATA.exists() else ExecutionMap({})
    known = read_equivalents(Path(__file__).with_name("equivalent.yml"))
    try:
        rooms = [
            (room, try_all(mutants, executed, args.tests, args.jobs))
            for room, mutants in choose(args, executed).items()
        ]
    except ValueError as error:
        tell(str(error))
        return 2
    for line in lines(rooms, known):
        tell(line)
    killed, counted = score([each for _, tried in rooms for each in tried], known)
    return 0 if killed >= REQUIRED * counted else 1


if __name__ == "__main__":
    sys.exit(main())
