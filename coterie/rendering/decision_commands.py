"""The commands that decide a request, as a person can paste them.

They name `--by` if only others than the reader may decide, and `--digest` where it must be given. A
run with signed decisions takes no name: there they have `--key`, for the reader's key file.
"""

from shlex import join

from coterie.dsl.person_names import is_among
from coterie.workflows.core.requests import Pending
from coterie.workflows.core.state_keys import StepKey


def decision_commands(run: str, request: Pending, login: str, *, digest: bool = False) -> str:
    """Return the commands that answer a request.

    Args:
        run: Id of the run.
        request: The request.
        login: Login name of the reader, which a command takes without `--by`.
        digest: Name the digest also while the request is as it opened.
    """
    by = _by(request, login)
    task = (run, str(StepKey.of_failed(request.id)), *by)
    arguments = (run, request.id, *by)
    if request.digest and (digest or request.edited):
        arguments += ("--digest", request.digest)
    if not request.choices:
        return f"{_command('approve', *arguments)}   or   {_command('reject', *arguments)}"
    return (
        f"{_command('retry', *task)}   or   {_command('skip', *task)}   or, to let it fail,   "
        f"{_command('reject', *arguments)}"
    )


def show_command(run: str, request: str) -> str:
    """Return the command that shows a request in full."""
    return _command("show", run, request)


def _command(*words: str) -> str:
    return join(("coterie", *words))


def _by(request: Pending, login: str) -> tuple[str, ...]:
    """Return the option that says who decides; nothing if the reader may, without a signature."""
    if request.signed:
        return "--key", "FILE"
    if not request.approvers or is_among(login, request.approvers):
        return ()
    open_to = [name for name in request.approvers if not is_among(name, request.approved_by)]
    return "--by", (open_to or request.approvers)[0]
