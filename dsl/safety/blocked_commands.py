"""Find commands that destroy data or stop the machine, whatever tool would run them."""

import re
import shlex
from collections.abc import Iterator, Sequence
from itertools import islice, pairwise

from dsl.safety.blocked_rules import Blocked, BlockedRule, cut

_ENDS = frozenset((";", "&", "&&", "||", "|", "|&", "\n", "(", ")", "{", "}", "!"))
_PIPES = ("|", "|&")
_WRAPPERS = {
    **dict.fromkeys(("env", "nice", "nohup", "time", "xargs", "command", "exec", "busybox"), 0),
    **dict.fromkeys(("then", "do", "else", "ionice", "setsid", "stdbuf", "unbuffer", "watch"), 0),
    **dict.fromkeys(("timeout", "taskset", "chrt", "flock", "chroot"), 1),
}
"""Programs that run the command after them, and how many words they take before it."""
_SHELLS = frozenset(("sh", "bash", "dash", "zsh", "ksh", "cmd", "powershell", "pwsh"))
_ELEVATION = frozenset(("sudo", "su", "doas", "pkexec", "runas"))
_POWER = frozenset(("shutdown", "reboot", "halt", "poweroff"))
_DISK = frozenset(("format", "wipefs", "fdisk", "parted", "diskpart", "shred", "mkswap"))
_DEVICE = re.compile(r"/dev/(?:sd|hd|nvme|vd|xvd|mmcblk|disk|mapper/|dm-)\w*")
_BOMB = re.compile(r"(\S+?)\s*\(\)\s*\{[^}]*\|[^}]*&[^}]*\}\s*;?\s*\S*")
_VARIABLE = re.compile(r"\w+=.*", re.DOTALL)
_MAX_DEPTH = 4
_MAX_TRIED = 20
"""Words of one command that may begin the command within wrappers."""


def blocked_command(text: str, depth: int = 0) -> Blocked | None:
    """Return why a command line is blocked; None for a harmless one."""
    if _BOMB.search(text):
        return Blocked("fork_bomb", cut(text))
    previous = [""]
    for words, piped in _commands(text):
        found = blocked_words_of_command(words, depth)
        if found is not None:
            return found
        if piped and _program(words) in _SHELLS and _program(previous) in ("curl", "wget"):
            return Blocked("piped_script", cut(text))
        previous = words
    return None


def blocked_words_of_command(words: Sequence[str], depth: int = 0) -> Blocked | None:
    """Return why a program with its arguments is blocked; None for a harmless one."""
    tried = islice(_possible_commands(words), _MAX_TRIED)
    found = (_blocked_program(one, depth) for one in tried)
    return next((one for one in found if one is not None), None)


def _blocked_program(words: Sequence[str], depth: int) -> Blocked | None:
    program, arguments = _program(words), words[1:]
    rule = _rule(program, arguments)
    if rule is not None:
        return Blocked(rule, cut(" ".join(words)))
    if depth < _MAX_DEPTH:
        for text in _inner(program, arguments):
            found = blocked_command(text, depth + 1)
            if found is not None:
                return found
    return None


def _rule(program: str, arguments: Sequence[str]) -> BlockedRule | None:
    if program in _ELEVATION:
        return "elevation"
    if program in _POWER or (program in ("init", "telinit") and arguments[:1] in (["0"], ["6"])):
        return "power"
    if program in _DISK or program.startswith("mkfs"):
        return "disk"
    if _overwrites_device(program, arguments):
        return "disk"
    return "deletion" if _deletes(program, arguments) else None


def _overwrites_device(program: str, arguments: Sequence[str]) -> bool:
    written = [text for sign, text in pairwise(arguments) if sign in (">", ">>")]
    written += [one.lstrip(">") for one in arguments if one.startswith(">")]
    if program in ("dd", "cp", "tee"):
        written += [one.removeprefix("of=") for one in arguments]
    return any(_DEVICE.fullmatch(one) for one in written)


def _deletes(program: str, arguments: Sequence[str]) -> bool:
    options = [one for one in arguments if one.startswith("-")]
    letters = "".join(one[1:] for one in options if not one.startswith("--"))
    match program:
        case "rm":
            recursive = bool({"r", "R"} & set(letters)) or "--recursive" in options
            return recursive and (
                "f" in letters or "--force" in options or "--no-preserve-root" in options
            )
        case "rd" | "rmdir" | "del" | "erase" | "deltree":
            return any(one.lower() == "/s" for one in arguments)
        case "remove-item" | "ri":
            return any(one.lower().startswith("-rec") for one in options)
        case "find":
            return "-delete" in arguments
        case _:
            return False


def _inner(program: str, arguments: Sequence[str]) -> Iterator[str]:
    """Yield the command lines that a program runs itself."""
    if program in _SHELLS:
        for flag, text in pairwise(arguments):
            if re.fullmatch(r"-\w*[cC]\w*", flag):
                yield text
        for flag in ("/c", "/k", "/C", "/K"):
            if flag in arguments:
                yield " ".join(arguments[arguments.index(flag) + 1 :])
    if program in ("eval", "watch"):
        yield " ".join(arguments)
    if program == "find":
        for flag in ("-exec", "-execdir", "-ok"):
            if flag in arguments:
                yield shlex.join(arguments[arguments.index(flag) + 1 :])


def _possible_commands(words: Sequence[str]) -> Iterator[Sequence[str]]:
    """Yield the command that wrappers run, and each word before it that may be its beginning.

    The value of a wrapper's option looks like a program: `nice -n 10 rm`.
    """
    left = 1  # words without `-` that may still come, the command among them
    for index, word in enumerate(words):
        if word.startswith("-"):
            left += "=" not in word
            continue
        takes = 0 if _VARIABLE.fullmatch(word) else _WRAPPERS.get(_program([word]))
        left = left - 1 if takes is None else max(left, takes + 1)
        yield words[index:]
        if not left:
            return


def _program(words: Sequence[str]) -> str:
    """Return the program's own name: no folder, no `.exe`, no upper case."""
    name = re.split(r"[/\\]", words[0])[-1].lower()
    return name.removesuffix(".exe").removesuffix(".com")


def _commands(text: str) -> Iterator[tuple[list[str], bool]]:
    """Yield the words of each simple command, and whether a pipe leads into it."""
    words: list[str] = []
    end = ""
    for word in _tokens(text):
        if word in _ENDS:
            if words:
                yield words, end in _PIPES
            words, end = [], word
        else:
            words.append(word)
    if words:
        yield words, end in _PIPES


def _tokens(text: str) -> list[str]:
    lines = text.replace("\\\n", " ").replace("\n", " ; ").replace("$(", " ; ").replace("`", " ; ")
    lexer = shlex.shlex(lines, posix=True, punctuation_chars=";&|(){}")
    lexer.whitespace_split = True
    lexer.commenters = ""
    try:
        return list(lexer)
    except ValueError:  # an open quote
        return re.findall(r"[;&|()]+|[^\s;&|()'\"]+", lines)
