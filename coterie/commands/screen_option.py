"""The option `--ui` of the commands that stay with a run."""

from argparse import ArgumentParser, Namespace

from coterie.activities.extra_packages import install_command
from coterie.display.screens import OpenScreen
from coterie.failures import CommandError
from coterie.settings import Settings
from coterie.terminal import is_interactive

_LINES = ("plain", "events", "verbose")
"""Options for lines, which the screen does not print."""


def add_screen(parser: ArgumentParser) -> None:
    """Add the option."""
    parser.add_argument(
        "--ui",
        action="store_true",
        help="show the run full-screen, and steer it with keys (needs coterie[ui])",
    )


def chosen_screen(args: Namespace, settings: Settings) -> OpenScreen | None:
    """Return what opens the screen; None without `--ui`.

    Raises:
        CommandError: The screen cannot be opened here.
    """
    if not args.ui:
        return None
    beside = [f"--{name}" for name in _LINES if getattr(args, name, False)]
    if beside:
        raise CommandError(f"--ui cannot be used with {', '.join(beside)}: it prints no lines")
    if not is_interactive():
        raise CommandError(
            "--ui needs a terminal: standard input and standard error must both be one; leave "
            "out --ui to print lines"
        )
    kind = settings.environment.get("TERM", "")
    if kind in ("", "dumb"):
        raise CommandError(
            f"--ui needs a terminal with a cursor, and TERM is {kind!r}; leave out --ui to "
            "print lines, or set TERM, for example to xterm-256color"
        )
    try:
        from coterie.ui.run_screen import RunScreen
    except ModuleNotFoundError as error:
        raise CommandError(
            f"--ui needs the package {error.name}: {install_command('ui')}"
        ) from None
    return RunScreen
