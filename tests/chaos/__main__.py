"""Kill and freeze the workers and the server of many runs at random, and check what is promised.

    python -m tests.chaos --only runs --runs 30 --seed 7
    python -m tests.chaos --only tools --kills 50 --seed 7
    python -m tests.chaos --only graph --tasks 2000 --kills 10
    python -m tests.chaos --only session --messages 2500 --kills 20
    python -m tests.chaos --only router --kills 18 --seed 7
    python -m tests.chaos --only debug --kills 7 --seed 7
    python -m tests.chaos --only stream --kills 200 --seed 7
    python -m tests.chaos --only effects --kills 50 --seed 3

Without --only it plays all of them, one after another: simulated runs that continue as new in every
workflow task, runs of a team with steps of all kinds, runs
with 30 calls of tools each, one large task graph, one long session, the sessions of a tool router,
an agent that debugs, clients of event streams, and payments that are interrupted at each point. It
makes projects in a temporary folder, with real workers and a real server, and needs no key. The
exit code is 1 when a promise was broken; the folder is kept then.
"""

import argparse
import asyncio
import random
import shutil
import sys
import tempfile
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from temporalio.runtime import LoggingConfig, Runtime, TelemetryConfig, TelemetryFilter

from bench.session import play as play_session
from tests.chaos.debug_runs.debug_play import play_debug
from tests.chaos.early_forks import fork_everywhere
from tests.chaos.early_moves import early, move_everywhere, suggest_after
from tests.chaos.effect_runs.effect_play import EffectTerms, play_effects
from tests.chaos.graphs import GraphTerms, play_graph
from tests.chaos.play import play
from tests.chaos.router_runs.router_plan import RouterPlan
from tests.chaos.router_runs.router_play import play_router
from tests.chaos.siege import Terms
from tests.chaos.stream_runs.stream_play import StreamTerms, play_streams
from tests.chaos.tool_runs.planned_runs import Plan
from tests.chaos.tool_runs.tool_play import play_tools
from tests.chaos.tool_runs.tool_siege import ToolTerms

_TOOL_KILLS = 50
_GRAPH_KILLS = 10
_SESSION_KILLS = 20
_ROUTER_KILLS = 18
_DEBUG_KILLS = 7
_STREAM_STRIKES = 200
_EFFECT_KILLS = 50


def tell(line: str) -> None:
    """Show a line of progress at once."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


@dataclass(frozen=True, slots=True)
class Asked:
    """What is to be played."""

    only: str | None
    runs: int
    kills: int | None
    seed: int
    open: int | None
    gap: float
    limit: float
    tasks: int
    messages: int
    continue_after: int

    def kills_or(self, default: int) -> int:
        """Return how many kills, or so many by default."""
        return default if self.kills is None else self.kills


async def _runs(asked: Asked, folder: Path) -> list[str]:
    terms = Terms(
        asked.runs,
        asked.kills_or(max(3, asked.runs // 5)),
        asked.open or 40,
        gap=(1.0, asked.gap),
        limit=asked.limit * 60,
        freezes=True,
    )
    tell(f"{terms.runs} runs, at most {terms.kills} kills")
    report = await play(folder, asked.seed, terms, tell)
    return _report_lines(report.lines(), report.wrong)


async def _tools(asked: Asked, folder: Path) -> list[str]:
    plan = Plan.of(asked.seed, asked.kills_or(_TOOL_KILLS))
    terms = ToolTerms(open_at_once=asked.open or 5, limit=asked.limit * 60)
    report = await play_tools(folder, plan, terms, tell)
    return _report_lines(report.lines(), report.wrong)


async def _graph(asked: Asked, folder: Path) -> list[str]:
    kills, limit = asked.kills_or(_GRAPH_KILLS), asked.limit * 60
    terms = GraphTerms(asked.tasks, kills, limit, asked.continue_after)
    return _report_lines([], await play_graph(folder, asked.seed, terms, tell))


async def _session(asked: Asked, _: Path) -> list[str]:
    kills = asked.kills_or(_SESSION_KILLS)
    every = asked.messages // (kills + 1) if kills else 0
    report = await play_session(asked.messages, every, asked.continue_after)
    return _report_lines(report.lines, report.wrong)


async def _router(asked: Asked, folder: Path) -> list[str]:
    plan = RouterPlan.of(asked.seed, asked.kills_or(_ROUTER_KILLS))
    report = await play_router(folder, plan, tell)
    return _report_lines(report.lines(), report.wrong)


async def _debug(asked: Asked, folder: Path) -> list[str]:
    report = await play_debug(folder, asked.seed, asked.kills_or(_DEBUG_KILLS), tell)
    return _report_lines(report.lines(), report.wrong)


def _report_lines(lines: list[str], wrong: list[str]) -> list[str]:
    for line in [*lines, *(f"WRONG {one}" for one in wrong)]:
        tell(line)
    return wrong


async def _moves(asked: Asked, folder: Path) -> list[str]:
    forked = await fork_everywhere(folder.parent, tell)
    moved = await asyncio.to_thread(move_everywhere, tell)  # each part of a run has its own loop
    return _report_lines([], [*moved, *forked])


async def _stream(asked: Asked, folder: Path) -> list[str]:
    terms = StreamTerms(asked.kills_or(_STREAM_STRIKES), limit=asked.limit * 60)
    report = await play_streams(folder, asked.seed, terms, tell)
    return _report_lines(report.lines, report.wrong)


async def _effects(asked: Asked, folder: Path) -> list[str]:
    terms = EffectTerms(asked.kills_or(_EFFECT_KILLS), asked.open or 20, asked.limit * 60)
    report = await play_effects(folder, asked.seed, terms, tell)
    return _report_lines(report.lines, report.wrong)


_PARTS: dict[str, Callable[[Asked, Path], Coroutine[Any, Any, list[str]]]] = {
    "moves": _moves,
    "runs": _runs,
    "tools": _tools,
    "graph": _graph,
    "session": _session,
    "router": _router,
    "debug": _debug,
    "stream": _stream,
    "effects": _effects,
}


def _arguments() -> Asked:
    parser = argparse.ArgumentParser(
        prog="python -m tests.chaos",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--only", choices=[*_PARTS], help="what is played (all)")
    parser.add_argument("--runs", type=int, default=30, help="how many runs (30)")
    parser.add_argument(
        "--kills",
        type=int,
        help="how many kills at most (runs: one for 5 runs; "
        f"tools: {_TOOL_KILLS}, 5 a run; graph: {_GRAPH_KILLS}; session: {_SESSION_KILLS}; "
        f"router: {_ROUTER_KILLS}, 6 a session; debug: {_DEBUG_KILLS}, 7 a run; "
        f"effects: {_EFFECT_KILLS}, and one or two more)",
    )
    parser.add_argument("--seed", type=int, help="of plays, kills and people")
    parser.add_argument(
        "--open", type=int, help="how many at once (runs: 40; tools: 5; effects: 20)"
    )
    parser.add_argument("--gap", type=float, default=15, help="seconds between kills at most (15)")
    parser.add_argument("--limit", type=float, default=60, help="minutes for each part (60)")
    parser.add_argument("--tasks", type=int, default=2000, help="of the graph (2000)")
    parser.add_argument("--messages", type=int, default=2500, help="of the session (2500)")
    parser.add_argument(
        "--continue-after",
        type=int,
        metavar="EVENTS",
        help="when the servers suggest to continue as new (60 or 100, by chance)",
    )
    given = vars(parser.parse_args())
    if given["seed"] is None:
        given["seed"] = random.SystemRandom().randrange(10_000)
    if given["continue_after"] is None:
        given["continue_after"] = early(random.Random(given["seed"]))
    return Asked(**given)


def main() -> int:
    """Read the arguments, play it, tell what came of it."""
    asked = _arguments()
    # That a server is away is the point here, and no news.
    quiet = LoggingConfig(TelemetryFilter(core_level="ERROR", other_level="ERROR"))
    Runtime.set_default(Runtime(telemetry=TelemetryConfig(logging=quiet)))
    broken = 0
    for name, play_part in _PARTS.items():
        if asked.only not in (None, name):
            continue
        tell(f"{name}: seed {asked.seed}, a new history after {asked.continue_after} events")
        folder = Path(tempfile.mkdtemp(prefix=f"coterie-chaos-{name}-"))
        suggest_after(asked.continue_after, folder / "bin")
        wrong = asyncio.run(play_part(asked, folder / "project"))
        broken += len(wrong)
        if wrong:
            tell(f"{len(wrong)} promises were broken; see {folder}")
        else:
            shutil.rmtree(folder)
    return 1 if broken else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
