"""Name the command that adds an extra to this installation of Coterie.

Coterie is in no index of packages, so the command names where this installation came from, as the
installer has recorded it (PEP 610, `direct_url.json`).
"""

import json
import shlex
import sys
from enum import StrEnum
from functools import cache
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit


class Installer(StrEnum):
    """What has installed Coterie, by what it leaves in the environment."""

    PIP = "pip"
    PIPX = "pipx"
    UV = "uv"
    UV_TOOL = "uv tool"


class Installation(NamedTuple):
    """Where Coterie came from, and how."""

    installer: Installer
    prefix: str
    """The folder of the environment."""
    url: str | None = None
    """Of a wheel, an archive or a checkout; None if an index had it."""
    editable: bool = False


def install_command(extra: str) -> str:
    """Return the command that adds an extra to this installation, to be run in a shell."""
    return command_for(extra, _installation())


def command_for(extra: str, found: Installation) -> str:
    """Return the command that adds an extra to an installation."""
    if found.url is None:
        what = [f"coterie[{extra}]"]
    elif found.editable:
        what = ["-e", f"{unquote(urlsplit(found.url).path)}[{extra}]"]
    else:
        what = [f"coterie[{extra}] @ {found.url}"]
    return shlex.join([*_words(found), *what])


def _words(installation: Installation) -> tuple[str, ...]:
    match installation.installer:
        case Installer.PIP:
            return (f"{installation.prefix}/bin/pip", "install")
        case Installer.PIPX:
            return ("pipx", "install", "--force")
        case Installer.UV:
            return ("uv", "pip", "install", "--python", installation.prefix)
        case Installer.UV_TOOL:
            return ("uv", "tool", "install", "--force")


@cache
def _installation() -> Installation:
    try:
        ours = distribution("coterie")
    except PackageNotFoundError:  # an unpacked wheel on the path
        return Installation(Installer.PIP, sys.prefix)
    direct: dict[str, Any] = json.loads(ours.read_text("direct_url.json") or "{}")
    editable = bool(direct.get("dir_info", {}).get("editable"))
    return Installation(
        _installer(ours.read_text("INSTALLER")), sys.prefix, direct.get("url"), editable
    )


def _installer(recorded: str | None) -> Installer:
    prefix = Path(sys.prefix)
    if (prefix / "uv-receipt.toml").is_file():
        return Installer.UV_TOOL
    if (prefix / "pipx_metadata.json").is_file():
        return Installer.PIPX
    return Installer.UV if (recorded or "").strip() == "uv" else Installer.PIP
