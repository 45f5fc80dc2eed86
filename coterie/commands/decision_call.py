"""What `coterie approve` and `coterie reject` send."""

from argparse import Namespace
from typing import Literal

from coterie.arguments import login_name
from workflows.core.messages import DecideInput


def decision_call(args: Namespace, decision: Literal["approve", "reject"]) -> DecideInput:
    """Return the decision that the arguments of `add_decision` describe.

    The request is left open; the command looks it up.
    """
    return DecideInput(
        id="",
        decision=decision,
        by=args.by or login_name(),
        comment=args.comment,
        digest=args.digest,
    )
