"""Which rule a program with its arguments violates, by its words."""

import re
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from itertools import pairwise
from typing import Final

from coterie.dsl.safety.blocked_rules import BlockedRule

_ELEVATION = frozenset(("sudo", "su", "doas", "pkexec", "runas", "gosu"))
_POWER = frozenset(
    ("shutdown", "reboot", "halt", "poweroff", "stop-computer", "restart-computer", "killall5")
)
_DISK = frozenset(
    (
        *("format", "wipefs", "fdisk", "sfdisk", "sgdisk", "parted", "diskpart", "shred", "mkswap"),
        *("blkdiscard", "hdparm", "format-volume", "clear-disk", "vssadmin", "bcdedit", "cipher"),
    )
)
_DELETIONS = frozenset(("rm", "rd", "rmdir", "del", "erase", "deltree", "remove-item", "ri"))
_RIGHTS = frozenset(("chmod", "chown", "chgrp", "icacls", "cacls", "takeown", "setfacl"))
_OTHERS = frozenset(("init", "telinit", "systemctl", "kill", "find", "truncate", "unlink", "mv"))
PROGRAMS: Final = _ELEVATION | _POWER | _DISK | _DELETIONS | _RIGHTS | _OTHERS
"""All programs that have a rule."""
_MAX_PATTERN = 40
_DEVICE = re.compile(r"/dev/(?:sd|hd|nvme|vd|xvd|mmcblk|disk|mapper/|dm-)\w*")
_OUTSIDE = re.compile(
    r"(?:/|~|/?\*|\.\.?/?\*?|[A-Za-z]:[\\/]?\*?(?:\.\*)?"
    r"|/(?:etc|usr|bin|sbin|lib\w*|boot|dev|proc|sys|root|home|var|opt)(?:/\S*)?"
    r"|~/\S{0,200}|[A-Za-z]:[\\/](?:windows|users|program files)\S{0,200}|%\w{1,30}%\S{0,200})/?",
    re.IGNORECASE,
)
"""The root, a home, a drive, everything, or a place of the system."""
_NOWHERE = ("/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty", "/dev/fd")
_OPEN_TO_ALL = re.compile(r"[0-7]?[0-7]{2}[2367]|[ugo]*[ao][ugo]*[+=][rwxXst]*w[rwxXst]*|\+w")


def known_programs(name: str) -> list[str]:
    """Return the programs that a pattern such as `r?` may stand for; else the name itself."""
    if not any(sign in name for sign in "*?[") or len(name) > _MAX_PATTERN:
        return [name]
    return [one for one in sorted(PROGRAMS) if fnmatchcase(one, name)]


def violated_rule(program: str, arguments: Sequence[str]) -> BlockedRule | None:
    """Return the rule that a program with its arguments violates."""
    if program in _ELEVATION:
        return "elevation"
    if _stops_machine(program, arguments):
        return "power"
    if program in _DISK or program.startswith("mkfs") or _overwrites_device(program, arguments):
        return "disk"
    if _deletes(program, arguments) or _overwrites_system(program, arguments):
        return "deletion"
    return "rights" if _changes_rights(program, arguments) else None


def _stops_machine(program: str, arguments: Sequence[str]) -> bool:
    match program:
        case "init" | "telinit":
            return list(arguments[:1]) in (["0"], ["6"])
        case "systemctl":
            stops = ("poweroff", "reboot", "halt", "kexec", "emergency", "rescue", "suspend")
            return any(one in stops for one in arguments)
        case "kill":
            return any(one in ("1", "-1") for one in arguments[1:]) or list(arguments) == ["1"]
        case _:
            return program in _POWER


def _written_places(program: str, arguments: Sequence[str]) -> list[str]:
    """Return where redirections and copies write."""
    words = (program, *arguments)
    written = [text for sign, text in pairwise(words) if sign in (">", ">>", ">|", "1>", "&>")]
    written += [one.lstrip("12&>|") for one in words if re.match(r"[12&]?>", one)]
    if program in ("dd", "cp", "tee"):
        written += [one.removeprefix("of=") for one in arguments]
    return written


def _overwrites_device(program: str, arguments: Sequence[str]) -> bool:
    return any(_DEVICE.fullmatch(one) for one in _written_places(program, arguments))


def _overwrites_system(program: str, arguments: Sequence[str]) -> bool:
    """Return whether files of the system are emptied, replaced or moved away."""
    if program in ("truncate", "unlink"):
        return _any_outside(arguments)
    if program == "mv":
        return _any_outside(arguments[:-1]) or "/dev/null" in arguments
    written = _written_places(program, arguments)
    if program == "cp":  # all but the last are read
        written = written[-1:]
    kept = [one for one in written if one and not one.startswith(_NOWHERE)]
    return any(_OUTSIDE.fullmatch(one) and len(one) > 2 for one in kept)


def _any_outside(arguments: Iterable[str]) -> bool:
    return any(_OUTSIDE.fullmatch(one) for one in arguments if one not in (".", "./", "*"))


def _deletes(program: str, arguments: Sequence[str]) -> bool:
    options = [one for one in arguments if one.startswith("-")]
    letters = "".join(one[1:] for one in options if not one.startswith("--"))
    match program:
        case "rm":
            recursive = bool({"r", "R"} & set(letters)) or any(
                one.startswith("--rec") for one in options
            )
            forced = "f" in letters or any(one.startswith(("--f", "--no-p")) for one in options)
            fast = any(one.lower().startswith("-fo") for one in options)
            outside = any(_OUTSIDE.fullmatch(one) for one in arguments)
            if recursive and (forced or fast or outside):
                return True
            return forced and _any_outside(arguments)
        case "rd" | "rmdir" | "del" | "erase" | "deltree":
            return any(one.lower() == "/s" for one in arguments) or _any_outside(
                one for one in arguments if not re.fullmatch(r"/\w(?::\w+)?", one)
            )
        case "remove-item" | "ri":
            return any(one.lower().startswith("-r") for one in options) or _any_outside(arguments)
        case "find":
            return "-delete" in arguments
        case _:
            return False


def _changes_rights(program: str, arguments: Sequence[str]) -> bool:
    """Return whether everybody gets rights to many files, or files of the system get others."""
    options = [one.lower() for one in arguments if one.startswith("-")]
    many = any("r" in one for one in options if not one.startswith("--")) or (
        "--recursive" in options
    )
    outside = _any_outside(arguments)
    match program:
        case "chmod":
            modes = [one for one in arguments if not one.startswith("-") or one == "-w"][:1]
            return outside or (many and any(_OPEN_TO_ALL.fullmatch(mode) for mode in modes))
        case "icacls" | "cacls":
            everyone = any(one.lower().startswith(("everyone:", "*s-1-1-0")) for one in arguments)
            return everyone or (outside and len(arguments) > 1)
        case "takeown":
            return True
        case "chown" | "chgrp" | "setfacl":
            return outside
        case _:
            return False
