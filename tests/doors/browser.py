"""The browser of these tests: Debian's Chromium, so nothing is downloaded."""

import os
import shutil

_NAMES = ("chromium", "chromium-browser", "google-chrome")


def chromium() -> str | None:
    """The program; `COTERIE_CHROMIUM` names another one."""
    named = os.environ.get("COTERIE_CHROMIUM")
    return named or next(filter(None, map(shutil.which, _NAMES)), None)
