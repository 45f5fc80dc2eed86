"""The words of texts that are blocked for the kind of their field."""

from typing import Literal

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


def blocked_text(rule: BlockedRule, found: str) -> str:
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
