"""Find commands that destroy data or stop the machine, whatever tool would run them."""

import re
import shlex
from base64 import b64decode
from collections.abc import Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from itertools import islice, pairwise
from typing import Final, NamedTuple

from coterie.dsl.safety.blocked_code import blocked_program
from coterie.dsl.safety.blocked_rules import Blocked, BlockedRule, cut

_ENDS = frozenset((";", "&", "&&", "||", "|", "|&", "\n", "(", ")", "{", "}", "!"))
_PIPES = ("|", "|&")
_ASSIGNMENT = re.compile(r"(?:^|[\s;&|(])(\w{1,50})=([^\s;&|()$]{1,100})")
_SHELL_VARIABLE = re.compile(r"\$\{(\w{1,50})\}|\$(\w{1,50})")
_ALTERNATIVES = re.compile(r"(?<!\$)\{([^{}\s,]{0,100}(?:,[^{}\s,]{0,100}){1,20})\}")
_MAX_TEXT = 20_000
"""Characters that are read for variables and alternatives."""


class SimpleCommand(NamedTuple):
    """One program with its arguments."""

    words: list[str]
    piped: bool
    """Whether a pipe leads into it."""


def simple_commands(text: str) -> Iterator[SimpleCommand]:
    """Yield each simple command of a line."""
    words: list[str] = []
    end = ""
    for word in _tokens(_expand(text)):
        if word in _ENDS:
            if words:
                yield SimpleCommand(words, end in _PIPES)
            words, end = [], word
        else:
            words.append(word)
    if words:
        yield SimpleCommand(words, end in _PIPES)


def program_name(words: Sequence[str]) -> str:
    """Return a program's own name: no folder, no `.exe`, no upper case."""
    name = re.split(r"[/\\]", words[0])[-1].lower()
    return name.removesuffix(".exe").removesuffix(".com")


def _expand(text: str) -> str:
    """Put in the variables that the line itself sets, and the alternatives of braces."""
    if len(text) > _MAX_TEXT:
        return text
    original = text
    text = text.replace("${IFS}", " ").replace("$IFS", " ").replace("$'", "'").replace('$"', '"')
    values = {"HOME": "~", **dict(_ASSIGNMENT.findall(text))}
    text = _SHELL_VARIABLE.sub(lambda match: values.get(match[1] or match[2], match[0]), text)
    text = _ALTERNATIVES.sub(lambda match: match[1].replace(",", " "), text)
    return text if len(text) <= 2 * _MAX_TEXT else original


def _tokens(text: str) -> list[str]:
    lines = text.replace("\\\n", " ").replace("\n", " ; ").replace("$(", " ; ").replace("`", " ; ")
    lexer = shlex.shlex(lines, posix=True, punctuation_chars=";&|(){}")
    lexer.whitespace_split = True
    lexer.commenters = ""
    try:
        return list(lexer)
    except ValueError:  # an open quote
        return re.findall(r"[;&|()]+|[^\s;&|()'\"]+", lines)


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
    return [program for program in sorted(PROGRAMS) if fnmatchcase(program, name)]


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
            return any(argument in stops for argument in arguments)
        case "kill":
            return any(word in ("1", "-1") for word in arguments[1:]) or list(arguments) == ["1"]
        case _:
            return program in _POWER


def _written_places(program: str, arguments: Sequence[str]) -> list[str]:
    """Return where redirections and copies write."""
    words = (program, *arguments)
    places = [text for sign, text in pairwise(words) if sign in (">", ">>", ">|", "1>", "&>")]
    places += [word.lstrip("12&>|") for word in words if re.match(r"[12&]?>", word)]
    if program in ("dd", "cp", "tee"):
        places += [argument.removeprefix("of=") for argument in arguments]
    return places


def _overwrites_device(program: str, arguments: Sequence[str]) -> bool:
    return any(_DEVICE.fullmatch(place) for place in _written_places(program, arguments))


def _overwrites_system(program: str, arguments: Sequence[str]) -> bool:
    """Return whether files of the system are emptied, replaced or moved away."""
    if program in ("truncate", "unlink"):
        return _any_outside(arguments)
    if program == "mv":
        return _any_outside(arguments[:-1]) or "/dev/null" in arguments
    places = _written_places(program, arguments)
    if program == "cp":  # all but the last are read
        places = places[-1:]
    real_places = [place for place in places if place and not place.startswith(_NOWHERE)]
    return any(_OUTSIDE.fullmatch(place) and len(place) > 2 for place in real_places)


def _any_outside(arguments: Iterable[str]) -> bool:
    return any(
        _OUTSIDE.fullmatch(argument) for argument in arguments if argument not in (".", "./", "*")
    )


def _deletes(program: str, arguments: Sequence[str]) -> bool:
    options = [argument for argument in arguments if argument.startswith("-")]
    letters = "".join(option[1:] for option in options if not option.startswith("--"))
    match program:
        case "rm":
            recursive = bool({"r", "R"} & set(letters)) or any(
                option.startswith("--rec") for option in options
            )
            forced = "f" in letters or any(
                option.startswith(("--f", "--no-p")) for option in options
            )
            fast = any(option.lower().startswith("-fo") for option in options)
            outside = any(_OUTSIDE.fullmatch(argument) for argument in arguments)
            if recursive and (forced or fast or outside):
                return True
            return forced and _any_outside(arguments)
        case "rd" | "rmdir" | "del" | "erase" | "deltree":
            return any(argument.lower() == "/s" for argument in arguments) or _any_outside(
                argument for argument in arguments if not re.fullmatch(r"/\w(?::\w+)?", argument)
            )
        case "remove-item" | "ri":
            return any(option.lower().startswith("-r") for option in options) or _any_outside(
                arguments
            )
        case "find":
            return "-delete" in arguments
        case _:
            return False


def _changes_rights(program: str, arguments: Sequence[str]) -> bool:
    """Return whether everybody gets rights to many files, or files of the system get others."""
    options = [argument.lower() for argument in arguments if argument.startswith("-")]
    many = any("r" in option for option in options if not option.startswith("--")) or (
        "--recursive" in options
    )
    outside = _any_outside(arguments)
    match program:
        case "chmod":
            modes = [
                argument
                for argument in arguments
                if not argument.startswith("-") or argument == "-w"
            ][:1]
            return outside or (many and any(_OPEN_TO_ALL.fullmatch(mode) for mode in modes))
        case "icacls" | "cacls":
            everyone = any(
                argument.lower().startswith(("everyone:", "*s-1-1-0")) for argument in arguments
            )
            return everyone or (outside and len(arguments) > 1)
        case "takeown":
            return True
        case "chown" | "chgrp" | "setfacl":
            return outside
        case _:
            return False


_WRAPPERS = {
    **dict.fromkeys(("env", "nice", "nohup", "time", "xargs", "command", "exec", "busybox"), 0),
    **dict.fromkeys(("then", "do", "else", "ionice", "setsid", "stdbuf", "unbuffer", "watch"), 0),
    **dict.fromkeys(("if", "while", "until", "strace", "ltrace", "builtin", "doas", "coproc"), 0),
    **dict.fromkeys(("timeout", "taskset", "chrt", "flock", "chroot"), 1),
}
"""Programs that run the command after them, and how many words they take before it."""
_POWERSHELLS = ("powershell", "pwsh")
_SHELLS = frozenset(("sh", "bash", "dash", "zsh", "ksh", "fish", "ash", "cmd", *_POWERSHELLS))
_RUN_INPUT = _SHELLS | {"python", "python3", "perl", "ruby", "node", "iex", "invoke-expression"}
_HIDERS = frozenset(
    (
        *("curl", "wget", "iwr", "irm", "invoke-webrequest", "fetch", "nc", "netcat"),
        *("base64", "base32", "xxd", "openssl", "gunzip", "zcat", "gzip", "rev"),
    )
)
"""Programs that print what nobody has read."""
_SCRIPT_FLAGS = {
    "python": ("-c",),
    "pypy": ("-c",),
    "perl": ("-e", "-E", "-ne", "-pe"),
    "ruby": ("-e",),
    "node": ("-e", "--eval", "-p"),
    "php": ("-r",),
    "lua": ("-e",),
}
_QUOTED = re.compile(r"'([^']{1,500})'|\"([^\"]{1,500})\"")
_FETCHED = re.compile(
    r"(?:^|[\s;&|(])(?:sh|bash|dash|zsh|ksh|eval|source|\.)\s(?:[^|;&\n]{0,100}?)"
    r"(?:\$\(|`|<\()\s{0,9}(?:curl|wget)\b"
)
_BOMB = re.compile(r"[^\s()]\s{0,9}\(\)\s{0,9}\{[^}|]{0,99}\|[^}&]{0,99}&[^}]{0,99}\}")
_VARIABLE = re.compile(r"\w+=.*", re.DOTALL)
_DELETES = re.compile(r"\b(?:unlink|rmtree|rm_rf|rmSync|rmdirSync|remove_dir_all)\b")
_MAX_DEPTH = 4
_MAX_INNER = 50_000
"""Characters of commands within a command that are read."""
_MAX_TRIED = 20
"""Words of one command that may begin the command within wrappers."""


def blocked_command(text: str) -> Blocked | None:
    """Return why a command line is blocked; None for a harmless one."""
    return _Search().line(text, 0)


class _Search:
    """One look at a command, with what is left for the commands within it."""

    def __init__(self) -> None:
        self._left = _MAX_INNER
        self._seen: set[str] = set()

    def inner(self, text: str, depth: int) -> Blocked | None:
        """Judge a command within another."""
        self._left -= len(text) + 100
        if depth > _MAX_DEPTH or self._left < 0 or text in self._seen:
            return None
        self._seen.add(text)
        return self.line(text, depth)

    def line(self, text: str, depth: int) -> Blocked | None:
        """Judge a command line."""
        if _BOMB.search(text):
            return Blocked("fork_bomb", cut(text))
        if _FETCHED.search(text):
            return Blocked("piped_script", cut(text))
        previous = [""]
        for words, piped in simple_commands(text):
            blocked = self.words(words, depth)
            if blocked is None and piped:
                blocked = self._pipe(text, previous, words, depth)
            if blocked is not None:
                return blocked
            previous = words
        return None

    def words(self, words: Sequence[str], depth: int) -> Blocked | None:
        """Judge a program with its arguments."""
        tried = islice(_possible_commands(words), _MAX_TRIED)
        results = (self._program(command, depth) for command in tried)
        return next((result for result in results if result is not None), None)

    def _pipe(
        self, text: str, previous: Sequence[str], words: Sequence[str], depth: int
    ) -> Blocked | None:
        """Judge a shell that runs what another program prints."""
        begun = islice(_possible_commands(words), 3)
        if not any(program_name(command) in _RUN_INPUT for command in begun):
            return None
        printer = program_name(previous)
        if printer in _HIDERS:
            return Blocked("piped_script", cut(text))
        if printer in ("echo", "printf", "write-output"):
            return self.inner(" ".join(previous[1:]), depth + 1)
        return None

    def _program(self, words: Sequence[str], depth: int) -> Blocked | None:
        arguments = words[1:]
        for program in known_programs(program_name(words)):
            rule = violated_rule(program, arguments)
            if rule is not None:
                return Blocked(rule, cut(" ".join(words)))
        program = program_name(words)
        inner = (self.inner(text, depth + 1) for text in _inner(program, arguments))
        blocked = next((result for result in inner if result is not None), None)
        return blocked or self._script(program, arguments, depth)

    def _script(self, program: str, arguments: Sequence[str], depth: int) -> Blocked | None:
        """Judge the program text that an interpreter is given."""
        language = program.rstrip("0123456789.")
        for text in _scripts(language, arguments):
            if language in ("python", "pypy") and (blocked := blocked_program(text)) is not None:
                return blocked
            if _DELETES.search(text):
                return Blocked("deletion", cut(text))
            for quoted in islice(_QUOTED.finditer(text), _MAX_TRIED):
                blocked = self.inner(quoted[1] or quoted[2], depth + 1)
                if blocked is not None:
                    return blocked
        return None


def _scripts(language: str, arguments: Sequence[str]) -> list[str]:
    if language in ("awk", "gawk", "mawk"):
        return [argument for argument in arguments if "system" in argument or "|" in argument]
    flags = _SCRIPT_FLAGS.get(language, ())
    return [text for flag, text in pairwise(arguments) if flag in flags]


def _inner(program: str, arguments: Sequence[str]) -> Iterator[str]:
    """Yield the command lines that a program runs itself."""
    if program in _SHELLS:
        yield from _inner_of_shell(program, arguments)
    elif program == "eval":
        yield " ".join(arguments)
    elif program in ("watch", "ssh", "parallel", "script", "trap", "iex"):
        yield " ".join(arguments)
        yield from arguments
    elif program == "env":
        yield from (text for flag, text in pairwise(arguments) if flag in ("-S", "--split-string"))
    elif program == "find":
        for flag in ("-exec", "-execdir", "-ok", "-okdir"):
            if flag in arguments:
                yield shlex.join(arguments[arguments.index(flag) + 1 :])


def _inner_of_shell(program: str, arguments: Sequence[str]) -> Iterator[str]:
    for flag, text in pairwise(arguments):
        if flag == "<<<" or re.fullmatch(r"-\w*[cC]\w*", flag):
            yield text
        if program in _POWERSHELLS and re.fullmatch(r"-e\w*", flag, re.IGNORECASE):
            yield _decode_base64(text)
    for flag in ("/c", "/k", "/C", "/K"):
        if flag in arguments:
            yield " ".join(arguments[arguments.index(flag) + 1 :])


def _decode_base64(text: str) -> str:
    """Return the command that PowerShell takes in Base64."""
    try:
        return b64decode(text, validate=True).decode("utf-16-le")
    except ValueError:
        return ""


def _possible_commands(words: Sequence[str]) -> Iterator[Sequence[str]]:
    """Yield the command that wrappers run, and each word before it that may be its beginning.

    The value of a wrapper's option looks like a program: `nice -n 10 rm`.
    """
    remaining = 1  # words without `-` that may still come, the command among them
    for index, word in enumerate(words):
        if word.startswith("-"):
            remaining += "=" not in word
            continue
        takes = 0 if _VARIABLE.fullmatch(word) else _WRAPPERS.get(program_name([word]))
        remaining = remaining - 1 if takes is None else max(remaining, takes + 1)
        yield words[index:]
        if not remaining:
            return
