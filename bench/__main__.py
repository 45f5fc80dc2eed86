"""Measures Coterie against a workflow written by hand: `python -m bench`, see bench/README.md."""

import argparse
import asyncio
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from bench import conversation, documents, long
from bench.interpreter import figures
from bench.measuring import Measuring, Sample
from bench.report import Report, write_rows
from bench.stage import stage
from bench.systems import LEAN, SYSTEMS, UNSANDBOXED, System, WorkerKind
from bench.tool_loop import measurement as tool_loop
from bench.validation import validations

RESULTS = Path(__file__).parent / "results.json"


def _lengths(text: str) -> list[int]:
    lengths = sorted({int(part) for part in text.split(",")})
    if not lengths or lengths[0] < 1:
        raise ValueError
    return lengths


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument(
        "case",
        nargs="?",
        choices=("loop", "long", "conversation", "tools", "documents"),
        default="loop",
        help="short and longer runs (default); one very long run; conversations that grow; "
        "agents that use tools, also with the OpenAI Agents plugin; large documents",
    )
    parser.add_argument("--n", type=_lengths, metavar="N,N,...", help="lengths of runs")
    parser.add_argument(
        "--rounds",
        type=int,
        help="samples of each length: 6 (of 1000 and more a third), of the very long run 3 pairs",
    )
    parser.add_argument("--quick", action="store_true", help="lengths 10 and 100, two rounds")
    parser.add_argument(
        "--unsandboxed", action="store_true", help="measure Coterie outside the sandbox too"
    )
    parser.add_argument(
        "--lean", action="store_true", help="measure the hand-written one on our runner too"
    )
    parser.add_argument("--database", help="file for the server's SQLite; else it is in memory")
    parser.add_argument("--out", type=Path, default=RESULTS, help="where the rows are written")
    return parser.parse_args()


async def _loop(
    systems: Sequence[System], lengths: list[int], rounds: int, database: str | None
) -> list[Sample]:
    samples: list[Sample] = []
    kinds: list[WorkerKind] = list(dict.fromkeys(system.worker for system in systems))
    async with stage(kinds, database) as (address, workers):
        async for sample in Measuring(systems, address, workers).samples(lengths, rounds):
            samples.append(sample)
            _progress(sample)
    return samples


def _progress(sample: Sample) -> None:
    print(
        f"{sample.system:20} {sample.runs:3} x {sample.n:4} steps: "
        f"{sample.cpu_seconds / sample.steps * 1000:6.2f} ms CPU, "
        f"{sample.wall_seconds / sample.steps * 1000:6.2f} ms wall per step",
        file=sys.stderr,
    )


def main() -> None:
    arguments = _arguments()
    began = time.monotonic()
    match arguments.case:
        case "long":
            steps = (arguments.n or [1000 if arguments.quick else 10_000])[-1]
            pairs = arguments.rounds or long.PAIRS
            shown = long.measured(
                steps, pairs, arguments.database, arguments.out, lean=arguments.lean
            )
        case "conversation":
            turns = arguments.n or ([10, 20] if arguments.quick else [25, 50, 100, 200])
            shown = conversation.measured(turns, arguments.database, arguments.out)
        case "tools":
            turns = (arguments.n or [10 if arguments.quick else tool_loop.TURNS])[-1]
            rounds = arguments.rounds or tool_loop.ROUNDS
            shown = tool_loop.measured(turns, rounds, arguments.database, arguments.out)
        case "documents":
            sizes = arguments.n or ([50, 100] if arguments.quick else documents.KILOBYTES)
            shown = documents.measured(sizes, arguments.out)
        case _:
            shown = _steps(arguments)
    print(shown)
    print(f"\n{arguments.out} written after {time.monotonic() - began:.0f} s")


def _steps(arguments: argparse.Namespace) -> str:
    lengths, rounds = arguments.n or [10, 100, 1000], arguments.rounds or 6
    if arguments.quick:
        lengths, rounds = [10, 100], 2
    own = figures(steps=100 if arguments.quick else 1000, repeats=9)
    validated = validations(repeats=9)
    more = ((arguments.lean, LEAN), (arguments.unsandboxed, UNSANDBOXED))
    systems = (*SYSTEMS, *(system for asked, system in more if asked))
    samples = asyncio.run(_loop(systems, lengths, rounds, arguments.database))
    report = Report(systems, samples, own, validated)
    write_rows(arguments.out, list(report.rows()))
    return report.text()


if __name__ == "__main__":
    main()
