"""Kill and freeze the workers and the server of many runs at random, and check what is promised.

    python -m tests.chaos --runs 30 --seed 7

It makes a project in a temporary folder, with the real `coterie worker` and the embedded server,
and needs no key. The exit code is 1 when a promise was broken; the folder is kept then.
"""

import argparse
import asyncio
import random
import shutil
import sys
import tempfile
from pathlib import Path

from temporalio.runtime import LoggingConfig, Runtime, TelemetryConfig, TelemetryFilter

from tests.chaos.play import play
from tests.chaos.siege import Terms


def tell(line: str) -> None:
    """Show a line of progress at once."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def main() -> int:
    """Read the arguments, play it, tell what came of it."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.chaos",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--runs", type=int, default=30, help="how many runs (30)")
    parser.add_argument("--kills", type=int, help="how many kills at most (one for 5 runs)")
    parser.add_argument("--seed", type=int, help="of the kills and of the people")
    parser.add_argument("--open", type=int, default=40, help="runs at the same time (40)")
    parser.add_argument("--gap", type=float, default=15, help="seconds between kills at most (15)")
    parser.add_argument("--limit", type=float, default=60, help="minutes for all of it (60)")
    args = parser.parse_args()
    seed = args.seed if args.seed is not None else random.SystemRandom().randrange(10_000)
    terms = Terms(
        args.runs,
        args.kills if args.kills is not None else max(3, args.runs // 5),
        args.open,
        gap=(1.0, args.gap),
        limit=args.limit * 60,
        freezes=True,
    )
    tell(f"{terms.runs} runs, at most {terms.kills} kills, seed {seed}")
    # That a server is away is the point here, and no news.
    quiet = LoggingConfig(TelemetryFilter(core_level="ERROR", other_level="ERROR"))
    Runtime.set_default(Runtime(telemetry=TelemetryConfig(logging=quiet)))
    folder = Path(tempfile.mkdtemp(prefix="coterie-chaos-"))
    report = asyncio.run(play(folder / "project", seed, terms, tell))
    for line in report.lines():
        tell(line)
    if report.wrong:
        tell(f"{len(report.wrong)} promises were broken; see {folder}")
        return 1
    shutil.rmtree(folder)
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
