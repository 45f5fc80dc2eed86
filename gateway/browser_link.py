"""Show the person where the gateway is: in a browser if there is a display, and always as text."""

import asyncio
import sys
import webbrowser
from collections.abc import Mapping

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


async def show_link(link: str, environment: Mapping[str, str], *, opens: bool) -> None:
    """Print a link, and open it."""
    note(f"open      {link}")
    if opens and is_interactive() and has_display(environment, sys.platform):
        await asyncio.to_thread(webbrowser.open, link)
