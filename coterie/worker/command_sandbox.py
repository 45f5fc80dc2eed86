"""Choose the sandbox for the commands of a worker."""

import os
from pathlib import Path

from coterie.activities.processes.bubblewrap import Bubblewrap, find_bubblewrap
from coterie.activities.processes.command_user import command_user
from coterie.activities.processes.process_privacy import keep_to_itself
from coterie.activities.processes.search_path import path_outside
from coterie.documents.worker_trust import TrustedConfig
from coterie.failures import CommandError
from coterie.settings import Settings


def command_sandbox(
    trusted: TrustedConfig, settings: Settings
) -> "tuple[Bubblewrap | None, str | None]":
    """Return the sandbox, and a warning if commands run without one by accident.

    From now on this process keeps to itself: commands may run beside it.

    Raises:
        CommandError: The configuration requires bubblewrap, and it does not work here.
    """
    keep_to_itself()
    mode = trusted.sandbox.mode
    if mode == "none" or (mode == "auto" and not trusted.commands):
        return None, None
    workspace = Path(trusted.workspace).resolve()
    path = path_outside(settings.environment.get("PATH", os.defpath), workspace)
    result = find_bubblewrap(path, command_user(workspace, path))
    if isinstance(result, Bubblewrap):
        return result, None
    if mode == "bubblewrap":
        raise CommandError(
            f"`worker.sandbox` is bubblewrap, which does not work here ({result}); install or "
            "allow it, or set `worker.sandbox: auto` to run commands without it"
        )
    return None, (
        f"commands run without a sandbox, like this worker itself: bubblewrap does not work here "
        f"({result}); to accept this, set `worker.sandbox: none`"
    )
