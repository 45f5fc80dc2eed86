"""`coterie why`: explain why a run took its path."""

from argparse import ArgumentParser, Namespace

from coterie.failures import ExitCode
from coterie.inspection.step_trace import names_step
from coterie.inspection.trace import traced
from coterie.inspection.why_text import json_text, run_text, steps_json, steps_text, visits_text
from coterie.interrupts import run_async
from coterie.logs import quietly
from coterie.settings import Settings
from coterie.terminal import note, say


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("run", metavar="RUN_OR_FILE", help="the run's id, or its history as JSON")
    parser.add_argument(
        "visit",
        nargs="?",
        metavar="VISIT",
        help="a visit such as review#2, or a team: every rule and its values; TEAM/STEP#N, or a "
        "model's call such as search@2.1: what happened to it; default: the whole run in short",
    )
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(args: Namespace, settings: Settings) -> ExitCode:
    """Replay the run's history, and print what was evaluated and found."""
    return run_async(_why(args.run, args.visit, settings, as_json=args.json))


async def _why(source: str, name: str | None, settings: Settings, *, as_json: bool) -> ExitCode:
    quietly(settings)
    trace = await traced(settings, source)
    if not trace.visits:
        note(
            "another version of Coterie ran it: its worker reports the decisions, but not what "
            "each rule found"
        )
    if name is not None and names_step(name) and not trace.has_visit(name):
        steps = trace.of_step(name)
        say(steps_json(steps, trace) if as_json else steps_text(steps, trace))
        return ExitCode.DONE
    visits = trace.visits if name is None else trace.of(name)
    if as_json:
        say(json_text(trace, visits))
    elif name is None:
        say(run_text(trace, source))
    else:
        say(visits_text(visits, trace))
    return ExitCode.DONE
