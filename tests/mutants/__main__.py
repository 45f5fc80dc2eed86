"""Break deciding code on purpose, one place at a time, and count how often a test notices.

    python -m tests.mutants --number 150 --seed 7

The first call runs the tests once to learn which test executes which line (`--measure` does so
again). The exit code is 1 when less than 95 % of the mutants that count are killed.
"""

import argparse
import random
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue

from tests.mutants import execution_map
from tests.mutants.execution_map import ROOT, ExecutionMap
from tests.mutants.mutations import Mutant
from tests.mutants.report import REQUIRED, Tried, lines, read_equivalents, score
from tests.mutants.sample import DECIDING, SHARES, candidates, draw
from tests.mutants.trial import copy_project, try_mutant


def tell(line: str) -> None:
    """Show a line of progress at once."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def try_all(
    mutants: Sequence[Mutant], executed: ExecutionMap, folder: Path, jobs: int
) -> list[Tried]:
    """Try each mutant in one of as many copies of the project as there are jobs."""
    copies: SimpleQueue[Path] = SimpleQueue()
    for number in range(jobs):
        copy_project(ROOT, folder / str(number) / "project")
        copies.put(folder / str(number) / "project")

    def one(mutant: Mutant) -> Tried:
        copy = copies.get()
        try:
            tests = executed.tests_of(ROOT / mutant.path, mutant.line)
            tried = Tried(mutant, try_mutant(mutant, tests, copy))
        finally:
            copies.put(copy)
        tell(f"{tried.verdict.value}: {mutant.described()}")
        return tried

    with ThreadPoolExecutor(jobs) as pool:
        return list(pool.map(one, mutants))


def main() -> int:
    """Read the arguments, try a sample, report."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.mutants",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--number", type=int, default=150, help="how many mutants (150)")
    parser.add_argument("--seed", type=int, help="of the sample")
    parser.add_argument("--rooms", nargs="*", default=list(DECIDING), choices=list(DECIDING))
    parser.add_argument("--jobs", type=int, default=2, help="mutants at the same time (2)")
    parser.add_argument("--measure", action="store_true", help="learn anew who runs what")
    args = parser.parse_args()
    seed = args.seed if args.seed is not None else random.SystemRandom().randrange(10_000)
    tell(f"{args.number} mutants, seed {seed}")
    if args.measure or not execution_map.DATA.exists():
        execution_map.measure()
    executed = execution_map.read()
    known = read_equivalents(Path(__file__).with_name("equivalent.yml"))
    whole = sum(SHARES[room] for room in args.rooms)
    chance = random.Random(seed)
    rooms: list[tuple[str, Sequence[Tried]]] = []
    for room in args.rooms:
        number = round(args.number * SHARES[room] / whole)
        drawn = draw(candidates(ROOT, room, executed), number, chance)
        with tempfile.TemporaryDirectory(prefix="coterie-mutants-") as folder:
            rooms.append((room, try_all(drawn, executed, Path(folder), args.jobs)))
    for line in lines(rooms, known):
        tell(line)
    killed, counted = score([each for _, tried in rooms for each in tried], known)
    return 0 if killed >= REQUIRED * counted else 1


if __name__ == "__main__":
    sys.exit(main())
