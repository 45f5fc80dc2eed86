"""`coterie doctor`: check this machine and this project, and name the fix of each problem."""

from argparse import ArgumentParser, Namespace

from coterie.doctor.checkup import fails
from coterie.doctor.doctor_text import doctor_json, doctor_text
from coterie.doctor.examination import examine
from coterie.failures import ExitCode
from coterie.interrupts import run_async
from coterie.settings import Settings
from coterie.terminal import say


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument(
        "--offline", action="store_true", help="contact no server, neither Temporal nor a model"
    )
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(args: Namespace, settings: Settings) -> ExitCode:
    """Print the findings, and fail if one of them is a problem."""
    findings = run_async(examine(settings, offline=args.offline))
    say(doctor_json(findings) if args.json else doctor_text(findings))
    return ExitCode.RUN_FAILED if fails(findings) else ExitCode.DONE
