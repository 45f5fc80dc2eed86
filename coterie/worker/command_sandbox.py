"""Choose the sandbox for the commands of a worker."""

from activities.processes.bubblewrap import Bubblewrap, find_bubblewrap
from coterie.documents.worker_trust import TrustedConfig
from coterie.failures import CommandError
from coterie.settings import Settings


def command_sandbox(
    trusted: TrustedConfig, settings: Settings
) -> "tuple[Bubblewrap | None, str | None]":
    """Return the sandbox, and a warning if commands run without one by accident.

    Raises:
        CommandError: The configuration requires bubblewrap, and it does not work here.
    """
    mode = trusted.sandbox.mode
    if mode == "none" or (mode == "auto" and not trusted.commands):
        return None, None
    found = find_bubblewrap(settings.environment)
    if isinstance(found, Bubblewrap):
        return found, None
    if mode == "bubblewrap":
        raise CommandError(
            f"`worker.sandbox` is bubblewrap, which does not work here ({found}); install or allow "
            "it, or set `worker.sandbox: auto` to run commands without it"
        )
    return None, (
        f"commands run without a sandbox, like this worker itself: bubblewrap does not work here "
        f"({found}); to accept this, set `worker.sandbox: none`"
    )
