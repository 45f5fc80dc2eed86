"""Read a command line as a shell does, as far as its words are written out."""

import re
import shlex
from collections.abc import Iterator, Sequence
from typing import NamedTuple

_ENDS = frozenset((";", "&", "&&", "||", "|", "|&", "\n", "(", ")", "{", "}", "!"))
_PIPES = ("|", "|&")
_ASSIGNMENT = re.compile(r"(?:^|[\s;&|(])(\w{1,50})=([^\s;&|()$]{1,100})")
_VARIABLE = re.compile(r"\$\{(\w{1,50})\}|\$(\w{1,50})")
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
    given = text
    text = text.replace("${IFS}", " ").replace("$IFS", " ").replace("$'", "'").replace('$"', '"')
    values = {"HOME": "~", **dict(_ASSIGNMENT.findall(text))}
    text = _VARIABLE.sub(lambda found: values.get(found[1] or found[2], found[0]), text)
    text = _ALTERNATIVES.sub(lambda found: found[1].replace(",", " "), text)
    return text if len(text) <= 2 * _MAX_TEXT else given


def _tokens(text: str) -> list[str]:
    lines = text.replace("\\\n", " ").replace("\n", " ; ").replace("$(", " ; ").replace("`", " ; ")
    lexer = shlex.shlex(lines, posix=True, punctuation_chars=";&|(){}")
    lexer.whitespace_split = True
    lexer.commenters = ""
    try:
        return list(lexer)
    except ValueError:  # an open quote
        return re.findall(r"[;&|()]+|[^\s;&|()'\"]+", lines)
