"""Text that looks like a secret is never repeated: not in a problem's message, not in its line.

Works on texts, not on trees: errors also show lines of files that are not YAML.
"""

import re
from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from functools import lru_cache

HIDDEN = "***"

KEY_SHAPES = (
    r"sk-(?:ant-|proj-|or-)?[A-Za-z0-9_-]{20,}|gh[pousr]_[A-Za-z0-9]{30,}|github_pat_\w{30,}"
    r"|AKIA[0-9A-Z]{16}|xox[abprs]-[A-Za-z0-9-]{10,}|AIza[0-9A-Za-z_-]{35}"
    r"|-----BEGIN [A-Z ]*PRIVATE KEY-----"
)
"""The forms of the keys of well-known services."""

_SHAPES = re.compile(
    KEY_SHAPES + r"|\bsk-[A-Za-z0-9_-]{8,}|(?i:(?<=\bbearer )|(?<=\bbasic ))[\w.~+/=-]{8,}"
    r"|\beyJ[\w-]{10,}\.[\w-]+\.[\w-]*|(?<=://)[^\s/@:]*:[^\s/@]+(?=@)"
)
"""These, shorter ones, headers with keys, web tokens, passwords in addresses."""

_OPEN_SHAPES = re.compile(
    r"(?:sk-|gh[pousr]_|github_pat_|AKIA|xox[abprs]-|AIza|eyJ)[\w.-]*\Z"
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
    return _without(text, [*_shapes(text), *_values_text(text)])[0]


def without_shapes(text: str) -> str:
    """Return a text with everything masked that has the form of a key, a token or a password."""
    return _without(text, list(_shapes(text)))[0]


def open_shape(text: str) -> int:
    """Return how many characters at the end may become a key, a token or a password."""
    match = _OPEN_SHAPES.search(text)
    return len(text) - match.start() if match else 0


def redacted_line(lines: Sequence[str], index: int, column: int) -> tuple[str, int]:
    """Return a line of a file without what looks like a secret, and the new column.

    Args:
        lines: of the whole file; a value may begin in an earlier line.
        index: of the line, from 0.
        column: in the line, from 0.
    """
    line = lines[index]
    if line.strip() and _continues(lines, index):
        begin = len(line) - len(line.lstrip())
        spans: list[Span] = [(begin, len(line))]
    else:
        spans = [*_shapes(line), *_values(line)]
    return _without(line, spans, column)


def _shapes(text: str) -> Iterator[Span]:
    return (match.span() for match in _SHAPES.finditer(text))


def _values_text(text: str) -> Iterator[Span]:
    """Yield the values in a sentence; text after a quoted key may also be the sentence itself."""
    for match in _KEY.finditer(text):
        if names_secret(match["key"]):
            value = _VALUE_IN_SENTENCE if match["quote"] else _BARE_VALUE_IN_SENTENCE
            found = value.match(text, match.end())
            if found:
                yield found.span()


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


def _continues(lines: Sequence[str], index: int) -> bool:
    """Return whether the line belongs to the value of a secret key in an earlier line."""
    above = lines[:index]
    begun = [number for number, line in enumerate(above) if _BEGIN.search(line)]
    if begun and not any(_END.search(line) for line in above[begun[-1] :]):
        return True
    deepest = _content(lines[index])
    between = ""
    for line in reversed(above):
        if not line.strip():
            continue
        for match in _KEY.finditer(line):
            if names_secret(match["key"]) and _is_open(line[match.end() :], between):
                return True
        start = _content(line)
        first = _KEY.match(line, start)
        if start < deepest and first is not None and names_secret(first["key"]):
            return True
        deepest = min(deepest, start)
        between += line
    return False


def _content(line: str) -> int:
    """Return the start of a line's content, after the dashes of lists."""
    return len(line) - len(line.lstrip(" -"))


def _is_open(value: str, between: str) -> bool:
    """Return whether a value with this start continues into the line in question.

    Args:
        value: the text after its key.
        between: the lines after that one.
    """
    if not value.strip():
        return not between
    quote = value[0]
    return quote in "\"'" and quote not in value[1:] and quote not in between


def _without(text: str, spans: Sequence[Span], column: int = 0) -> tuple[str, int]:
    """Return the text with each span replaced, and the new column."""
    parts: list[str] = []
    end, moved = 0, column
    for begin, stop in _merge_spans(spans):
        parts += [text[end:begin], HIDDEN]
        if column >= stop:
            moved += len(HIDDEN) - (stop - begin)
        else:
            moved -= max(0, column - begin)
        end = stop
    return "".join([*parts, text[end:]]), moved


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
