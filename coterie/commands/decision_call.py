"""What `coterie approve` and `coterie reject` send."""

from argparse import ArgumentParser, Namespace
from typing import Literal

from coterie.arguments import add_decision, login_name, name_given
from coterie.commands.run_choice import add_many_runs, chosen_many
from coterie.control.deciding_names import DecidingNames
from coterie.display.decide_command import WantedRequests, decide
from coterie.display.decide_many import decide_many
from coterie.dsl.values import Json
from coterie.failures import CommandError, ExitCode
from coterie.interrupts import run_async
from coterie.settings import Settings
from coterie.signing.own_keys import signer_of
from coterie.workflows.core.messages import DecideInput

_MANY = "--waiting"


def add_decisions(parser: ArgumentParser) -> None:
    """Add the decision, of requests of one run or of many."""
    add_many_runs(parser, _MANY, "the requests of every open run")
    parser.add_argument(
        "--request",
        dest="pattern",
        type=name_given,
        metavar="PATTERN",
        help=f"with {_MANY}: only requests whose ids match, such as 'pay/*'",
    )
    add_decision(parser)


def run_decision(
    args: Namespace, settings: Settings, decision: Literal["approve", "reject"], payload: Json
) -> ExitCode:
    """Send the decision that the arguments of `add_decisions` describe, and print what came of it.

    Args:
        args: The arguments.
        settings: Environment of the command.
        decision: What the command says.
        payload: `payload`, if the command gives one.
    """
    for_one = {
        "REQUEST": args.request is not None,
        "--all": args.all,
        "--digest": args.digest is not None,
        "--payload": bool(payload),
    }
    for_many = {"--request": args.pattern is not None}
    many = chosen_many(args, _MANY, "open", for_one=for_one, for_many=for_many)
    requests = WantedRequests(args.request, args.all)
    if args.all and args.request is not None:
        raise CommandError("choose --all or a REQUEST, not both")
    signer = signer_of(settings, args.key)
    names = DecidingNames(login_name(), args.by if signer is None else signer.subject)
    decide_input = DecideInput(
        id="", decision=decision, by=names.login, comment=args.comment, digest=args.digest
    )
    decide_input = decide_input.model_copy(update=payload)
    if many is not None:
        pattern = args.pattern or "*"
        return run_async(
            decide_many(settings, many, pattern, decide_input, names, signer, confirmed=args.yes)
        )
    return run_async(decide(settings, args.run, requests, decide_input, names, signer))
