"""What `coterie approve` and `coterie reject` send."""

from argparse import Namespace
from typing import Literal

from coterie.arguments import login_name
from coterie.control.deciding_names import DecidingNames
from coterie.display.decide_command import WantedRequests, decide
from coterie.dsl.values import Json
from coterie.failures import CommandError, ExitCode
from coterie.interrupts import run_async
from coterie.settings import Settings
from coterie.signing.own_keys import signer_of
from coterie.workflows.core.messages import DecideInput


def run_decision(
    args: Namespace, settings: Settings, decision: Literal["approve", "reject"], payload: Json
) -> ExitCode:
    """Send the decision that the arguments of `add_decision` describe, and print what came of it.

    Args:
        args: The arguments.
        settings: Environment of the command.
        decision: What the command says.
        payload: `payload`, if the command gives one.
    """
    requests = WantedRequests(args.request, args.all)
    if args.all and args.request is not None:
        raise CommandError("choose --all or a REQUEST, not both")
    signer = signer_of(settings, args.key)
    names = DecidingNames(login_name(), args.by if signer is None else signer.subject)
    decide_input = DecideInput(
        id="", decision=decision, by=names.login, comment=args.comment, digest=args.digest
    )
    decide_input = decide_input.model_copy(update=payload)
    return run_async(decide(settings, args.run, requests, decide_input, names, signer))
