"""`coterie say`: tell an agent at work something."""

from argparse import ArgumentParser, Namespace

from coterie.arguments import add_key, add_run, login_name, message_said, name_given, who
from coterie.control.control_commands import tell
from coterie.failures import ExitCode
from coterie.interrupts import run_async
from coterie.settings import Settings
from coterie.signing.own_keys import signer_of
from coterie.workflows.core.messages import SayInput


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the command's arguments."""
    add_run(parser)
    parser.add_argument(
        "text", type=message_said, metavar="TEXT", help="what the model reads at its next turn"
    )
    parser.add_argument(
        "--step",
        type=name_given,
        metavar="TEAM/STEP",
        help="the agent; default: the one at work that no other agent has called as a tool",
    )
    parser.add_argument("--by", type=who, help="your name in the trail; default: your login name")
    add_key(parser)


def run(args: Namespace, settings: Settings) -> ExitCode:
    """Send the message to the run, and print which agent reads it."""
    by, signer = args.by or login_name(), signer_of(settings, args.key)
    asked = SayInput(text=args.text, step=args.step, by=by)
    return run_async(tell(settings, args.run, asked, signer))
