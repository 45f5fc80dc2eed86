"""What a blocked text violates, as a typed fact."""

from typing import Literal, NamedTuple

FieldKind = Literal["code", "command", "path", "url"]
"""What a text field holds, if it is not prose. Prose is never blocked."""


BlockedRule = Literal[
    "import",
    "builtin",
    "internals",
    "deletion",
    "disk",
    "power",
    "fork_bomb",
    "piped_script",
    "elevation",
    "process",
    "rights",
    "traversal",
    "null",
    "scheme",
    "credentials",
    "whitespace",
]
"""What a text violates."""


class Blocked(NamedTuple):
    """Why a text is blocked."""

    rule: BlockedRule
    found: str
    """The part of the text that violates the rule, at most 80 characters."""


def cut(text: str) -> str:
    """Return the beginning of a text, for a message."""
    line = " ".join(text.split())
    return line if len(line) <= 80 else f"{line[:77]}..."


def blocked_text(rule: BlockedRule, found: str) -> str:
    """Say what a text violates, and what to do instead."""
    meaning, fix = _WORDS[rule]
    return f"{found!r} {meaning}; {fix}"


_WORDS: dict[BlockedRule, tuple[str, str]] = {
    "import": (
        "imports a module",
        "use what is available without an import",
    ),
    "builtin": (
        "reaches files, the terminal or other code",
        "compute with values, and use a tool of its own for the rest",
    ),
    "internals": ("reaches Python's internals", "use plain functions and values"),
    "deletion": ("deletes files", "delete single files by a file tool"),
    "disk": ("overwrites a disk", "no command may do that"),
    "power": ("stops the machine", "no command may do that"),
    "fork_bomb": ("starts processes without end", "no command may do that"),
    "piped_script": ("runs a script from elsewhere", "download, check and run it separately"),
    "elevation": ("runs with other rights", "run the command itself"),
    "process": ("starts or ends a program", "use a command that the worker's configuration names"),
    "rights": ("changes the rights of files or processes", "leave the rights as they are"),
    "traversal": ("leaves its folder", "write the path without '..'"),
    "null": ("contains a NUL character", "remove it"),
    "scheme": ("is no web address", "write an address with http:// or https://"),
    "credentials": ("contains a user name or password", "remove them"),
    "whitespace": ("contains a space or control character", "encode it"),
}
