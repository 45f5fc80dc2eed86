"""Show the person where the gateway is: in a browser if there is a display, and always as text."""

import asyncio
import sys
import webbrowser
from collections.abc import Mapping
from html import escape
from pathlib import Path

from coterie.activities.workspace.project_files import write_private
from coterie.terminal import is_interactive, note


def has_display(environment: Mapping[str, str], platform: str) -> bool:
    """Return whether a browser of this machine has a screen that the person sees.

    Args:
        environment: Of the command.
        platform: As `sys.platform`.
    """
    if environment.get("SSH_CONNECTION"):
        return False
    if platform == "darwin":
        return True
    return bool(environment.get("DISPLAY") or environment.get("WAYLAND_DISPLAY"))


def opening_file(link: str, file: Path) -> str:
    """Write a page that leads to a link, for this user alone, and return the page's address.

    Every user of the machine may read the command line of a browser, so the code is not in it.
    """
    address = escape(link, quote=True)
    write_private(
        file,
        f'<!doctype html><meta charset="utf-8"><title>Coterie</title>\n'
        f'<meta http-equiv="refresh" content="0;url={address}">\n'
        f'<a href="{address}">Open the console</a>\n',
    )
    return file.as_uri()


async def show_link(link: str, environment: Mapping[str, str], file: Path, *, opens: bool) -> None:
    """Print a link, and open it by way of a file."""
    note(f"open      {link}")
    if opens and is_interactive() and has_display(environment, sys.platform):
        await asyncio.to_thread(webbrowser.open, opening_file(link, file))
