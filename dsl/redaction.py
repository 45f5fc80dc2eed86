"""Text that looks like a secret is never repeated: not in a problem's message, not in its line.

Works on texts, not on trees: errors also show lines of files that are not YAML.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from difflib import get_close_matches
from functools import lru_cache
from typing import NamedTuple

HIDDEN = "***"

KEY_SHAPES = (
    r"sk-(?:ant-|proj-|or-)?[A-Za-z0-9_-]{20,}|gh[pousr]_[A-Za-z0-9]{30,}|github_pat_\w{30,}"
    r"|AKIA[0-9A-Z]{16}|xox[abprs]-[A-Za-z0-9-]{10,}|AIza[0-9A-Za-z_-]{35}"
    r"|coterie_[A-Za-z0-9_-]{43}|-----BEGIN [A-Z ]*PRIVATE KEY-----"
)
"""The forms of the keys of well-known services, and of our own tokens."""

_SHAPES = re.compile(
    KEY_SHAPES + r"|\bsk-[A-Za-z0-9_-]{8,}|(?i:(?<=\bbearer )|(?<=\bbasic ))[\w.~+/=-]{8,}"
    r"|\beyJ[\w-]{10,}\.[\w-]+\.[\w-]*|(?<=://)[^\s/@:]*:[^\s/@]+(?=@)"
)
"""These, shorter ones, headers with keys, web tokens, passwords in addresses."""

_OPEN_SHAPES = re.compile(
    r"(?:sk-|gh[pousr]_|github_pat_|AKIA|xox[abprs]-|AIza|coterie_|eyJ)[\w.-]*\Z"
    r"|(?i:(?<=\bbearer )|(?<=\bbasic ))[\w.~+/=-]*\Z|(?<=://)[^\s/@]*\Z|-----[A-Z -]*\Z"
)
"""The end of a text that may become one of these with what follows."""

_ENDINGS = (
    "apikey",
    "accesskey",
    "secretkey",
    "privatekey",
    "authkey",
    "token",
    "password",
    "passwd",
    "passphrase",
    "secret",
    "credential",
    "credentials",
    "authorization",
    "apikeys",
    "secrets",
    "passwords",
)
_MISSPELT = ("apikey", "accesskey", "password", "secret", "authorization")
_MAX_MISSPELT = 18
"""A longer word has too little in common with any of these."""

_QUOTED = r"""'(?:[^']|'')*'|"(?:[^"\\]|\\.)*\""""
_KEY = re.compile(r"""(?P<quote>["']?)(?P<key>[A-Za-z][\w.-]*)(?P=quote)\s*[:=]\s*""")
_IN_FLOW = re.compile(rf"(?:{_QUOTED})|[^\s,\]}}\"'\[{{][^,\]}}]*(?=\s*[,\]}}])")
_FILLED = re.compile(r"""(["']?)\{\{[^{}]*\}\}\1(?=\s*(?:[,\]}]|#|$))""")
_VALUE_IN_SENTENCE = re.compile(rf"(?:{_QUOTED})|\d[\w.]*")
_BARE_VALUE_IN_SENTENCE = re.compile(rf"(?:{_QUOTED})|[^\s`'\",;)\]}}][^\s`'\"]*")
_BEGIN = re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----")
_END = re.compile(r"-----END [A-Z ]*PRIVATE KEY-----")

Span = tuple[int, int]


def names_secret(key: str) -> bool:
    """Return whether a key has the name of a secret, even if misspelled.

    `api_key_env` does not: it holds the name of a variable; nor does `max_tokens`.
    """
    word = re.sub(r"[-_.]", "", key).lower()
    if word.startswith("max"):
        return False
    return word.endswith(_ENDINGS) or (len(word) <= _MAX_MISSPELT and _is_misspelt(word))


@lru_cache(maxsize=4096)
def _is_misspelt(word: str) -> bool:
    """Compare a word with the names of secrets; a text repeats its few words thousands of times."""
    return bool(get_close_matches(word, _MISSPELT, cutoff=0.82))


def redacted(text: str) -> str:
    """Return a sentence with everything masked that looks like a secret."""
    return _without(text, _merge_spans([*_shapes(text), *_values_text(text)]))


def without_shapes(text: str) -> str:
    """Return a text with everything masked that has the form of a key, a token or a password."""
    return _without(text, _merge_spans(list(_shapes(text))))


def open_shape(text: str) -> int:
    """Return how many characters at the end may become a key, a token or a password."""
    match = _OPEN_SHAPES.search(text)
    return len(text) - match.start() if match else 0


class RedactedLine(NamedTuple):
    """A line of a file without what looks like a secret."""

    text: str
    spans: Sequence[Span]
    """What was masked, in the columns of the file."""

    def column(self, column: int) -> int:
        """Return where a column of the file, from 0, stands in the text."""
        moved = column
        for begin, stop in self.spans:
            if column >= stop:
                moved += len(HIDDEN) - (stop - begin)
            else:
                moved -= max(0, column - begin)
        return moved


def redacted_line(line: str, *, continues: bool = False) -> RedactedLine:
    """Mask what looks like a secret in a line of a file.

    Args:
        line: of a file.
        continues: whether it is one of the `continued_lines` of the file.
    """
    if line.strip() and continues:
        begin = len(line) - len(line.lstrip())
        spans: list[Span] = [(begin, len(line))]
    else:
        spans = _merge_spans([*_shapes(line), *_values(line)])
    return RedactedLine(_without(line, spans), spans)


def continued_lines(lines: Iterable[str]) -> frozenset[int]:
    """Return the indexes of the lines that belong to the value of a secret key in an earlier line.

    Reads each line once: a report may show every line of a large file.
    """
    above = _LinesAbove()
    return frozenset(index for index, line in enumerate(lines) if above.read(line))


def _shapes(text: str) -> Iterator[Span]:
    return (match.span() for match in _SHAPES.finditer(text))


def _values_text(text: str) -> Iterator[Span]:
    """Yield the values in a sentence; text after a quoted key may also be the sentence itself."""
    for match in _KEY.finditer(text):
        if names_secret(match["key"]):
            value = _VALUE_IN_SENTENCE if match["quote"] else _BARE_VALUE_IN_SENTENCE
            value_match = value.match(text, match.end())
            if value_match:
                yield value_match.span()


def _values(line: str) -> Iterator[Span]:
    """Yield the values of secret keys in a line of YAML; an open one takes the line."""
    for match in _KEY.finditer(line):
        begin = match.end()
        if not names_secret(match["key"]) or not line[begin:].strip():
            continue
        if _FILLED.match(line, begin):
            continue  # a template names the source of the value, and is not a secret itself
        in_flow = any(bracket in line[: match.start()] for bracket in "{[")
        ended = _IN_FLOW.match(line, begin) if in_flow else None
        yield begin, ended.end() if ended else len(line.rstrip())


class _LinesAbove:
    """What the lines read so far say about the next one."""

    def __init__(self) -> None:
        self.in_private_key = False
        self.awaits_value = False
        """Whether the last line that is not empty ends with a secret key."""
        self.quotes: set[str] = set()
        """The quotes in which the value of a secret key began and has not ended."""
        self.sections: list[tuple[int, bool]] = []
        """`(where the content starts, whether its key is secret)` of the lines that the next one
        may be below, the outermost first.
        """

    def read(self, line: str) -> bool:
        """Read the next line; return whether it belongs to a secret value above."""
        is_blank = not line.strip()
        start = _content(line)
        while not is_blank and self.sections and self.sections[-1][0] >= start:
            self.sections.pop()
        continues = (
            self.in_private_key
            or self.awaits_value
            or bool(self.quotes)
            or any(is_secret and begin < start for begin, is_secret in self.sections)
        )
        if _BEGIN.search(line) or self.in_private_key:
            self.in_private_key = not _END.search(line)
        if not is_blank:
            self._follow(line, start)
        return continues

    def _follow(self, line: str, start: int) -> None:
        self.quotes -= set(line)
        self.awaits_value = False
        for match in _KEY.finditer(line):
            if names_secret(match["key"]):
                value = line[match.end() :]
                self.awaits_value = self.awaits_value or not value.strip()
                if value[:1] in ("'", '"') and value[0] not in value[1:]:
                    self.quotes.add(value[0])
        first = _KEY.match(line, start)
        self.sections.append((start, first is not None and names_secret(first["key"])))


def _content(line: str) -> int:
    """Return the start of a line's content, after the dashes of lists."""
    return len(line) - len(line.lstrip(" -"))


def _without(text: str, spans: Iterable[Span]) -> str:
    """Return the text with each of the merged spans replaced."""
    parts: list[str] = []
    end = 0
    for begin, stop in spans:
        parts += [text[end:begin], HIDDEN]
        end = stop
    return "".join([*parts, text[end:]])


def _merge_spans(spans: Sequence[Span]) -> list[Span]:
    """Return the spans in order, those that meet as one."""
    merged: list[Span] = []
    for begin, stop in sorted(spans):
        if merged and begin <= merged[-1][1]:
            first, last = merged.pop()
            merged.append((first, max(last, stop)))
        else:
            merged.append((begin, stop))
    return merged
