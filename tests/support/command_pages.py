"""Pages for learners: the files that they show, and the commands with what they print."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from doctest import ELLIPSIS, OutputChecker
from pathlib import Path

from tests.support.places import ROOT

_BLOCK = re.compile(
    r"^```(yaml|text|console)(?: (?:exit|file)=(\S+))?\n(.*?)^```$", re.MULTILINE | re.DOTALL
)
_FILE = re.compile(r"# file: (\S+)\n")
_COMMAND = re.compile(r"^\$ (.*)\n", re.MULTILINE)
_VARIES = (
    (re.compile(r"\b\d{4}-\d\d-\d\d([ T])\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)?"), "DATE"),
    (re.compile(r"\b\d\d:\d\d:\d\d(Z|[+-]\d\d:\d\d)?(?!\d)"), "TIME"),
    (re.compile(r"\b\d+(\.\d+)? (ms|s|min|h)\b"), "LONG"),
    (re.compile(r"127\.0\.0\.1:\d+"), "ADDRESS"),
    (re.compile(r"\bdigest +[0-9a-f]{12,}"), "DIGEST"),
    (re.compile(r" +$", re.MULTILINE), ""),
)
"""What differs from run to run."""


@dataclass(frozen=True, slots=True)
class PageFile:
    """A file that the reader writes; a later one of the same name replaces it."""

    name: str
    text: str


@dataclass(frozen=True, slots=True)
class PageCommand:
    """A command that the reader runs, and what it prints; `...` stands for any text."""

    line: str
    printed: str
    exit_code: int

    def is_printed_as(self, output: str) -> bool:
        """Whether the output is what the page shows, but for times, addresses and digests."""
        return OutputChecker().check_output(_plain(self.printed), _plain(output), ELLIPSIS)


def page_steps(page: str) -> Iterator[PageFile | PageCommand]:
    """What a page below docs/ has its reader do, in order.

    A block of YAML that begins with `# file: NAME` is a file, and so is one of text after
    `file=NAME`. A block of `console` holds commands
    after `$ `; `exit=2` after `console` is the exit code of the last one.
    """
    for kind, value, body in _BLOCK.findall((ROOT / "docs" / page).read_text()):
        if kind == "yaml":
            named = _FILE.match(body)
            if named:
                yield PageFile(named[1], body[named.end() :])
            continue
        if kind == "text":
            if value:
                yield PageFile(value, body)
            continue
        _, *parts = _COMMAND.split(body)
        calls = list(zip(parts[::2], parts[1::2], strict=True))
        for number, (line, printed) in enumerate(calls, 1):
            yield PageCommand(line, printed, int(value or 0) if number == len(calls) else 0)


def write_files(page: str, folder: Path) -> list[Path]:
    """Write the files of a page; where they are."""
    found = [step for step in page_steps(page) if isinstance(step, PageFile)]
    for file in found:
        (folder / file.name).parent.mkdir(exist_ok=True)
        (folder / file.name).write_text(file.text)
    return [folder / file.name for file in found]


def _plain(text: str) -> str:
    for pattern, replacement in _VARIES:
        text = pattern.sub(replacement, text)
    return text
