"""Find commands that destroy data or stop the machine, whatever tool would run them."""

import re
import shlex
from base64 import b64decode
from collections.abc import Iterator, Sequence
from itertools import islice, pairwise

from coterie.dsl.safety.blocked_code import blocked_program
from coterie.dsl.safety.blocked_programs import known_programs, violated_rule
from coterie.dsl.safety.blocked_rules import Blocked, cut
from coterie.dsl.safety.command_words import program_name, simple_commands

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
            found = self.words(words, depth)
            if found is None and piped:
                found = self._pipe(text, previous, words, depth)
            if found is not None:
                return found
            previous = words
        return None

    def words(self, words: Sequence[str], depth: int) -> Blocked | None:
        """Judge a program with its arguments."""
        tried = islice(_possible_commands(words), _MAX_TRIED)
        found = (self._program(one, depth) for one in tried)
        return next((one for one in found if one is not None), None)

    def _pipe(
        self, text: str, previous: Sequence[str], words: Sequence[str], depth: int
    ) -> Blocked | None:
        """Judge a shell that runs what another program prints."""
        begun = islice(_possible_commands(words), 3)
        if not any(program_name(one) in _RUN_INPUT for one in begun):
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
        found = next((one for one in inner if one is not None), None)
        return found or self._script(program, arguments, depth)

    def _script(self, program: str, arguments: Sequence[str], depth: int) -> Blocked | None:
        """Judge the program text that an interpreter is given."""
        language = program.rstrip("0123456789.")
        for text in _scripts(language, arguments):
            if language in ("python", "pypy") and (found := blocked_program(text)) is not None:
                return found
            if _DELETES.search(text):
                return Blocked("deletion", cut(text))
            for quoted in islice(_QUOTED.finditer(text), _MAX_TRIED):
                found = self.inner(quoted[1] or quoted[2], depth + 1)
                if found is not None:
                    return found
        return None


def _scripts(language: str, arguments: Sequence[str]) -> list[str]:
    if language in ("awk", "gawk", "mawk"):
        return [one for one in arguments if "system" in one or "|" in one]
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
    left = 1  # words without `-` that may still come, the command among them
    for index, word in enumerate(words):
        if word.startswith("-"):
            left += "=" not in word
            continue
        takes = 0 if _VARIABLE.fullmatch(word) else _WRAPPERS.get(program_name([word]))
        left = left - 1 if takes is None else max(left, takes + 1)
        yield words[index:]
        if not left:
            return
