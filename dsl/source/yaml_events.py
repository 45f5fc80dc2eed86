"""YAML text -> the events of its parser, without recursion and within bounds.

With `text_edits.py`, which asks it first, the only file that imports the YAML library.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator
from itertools import accumulate
from typing import Protocol

from yaml import (
    AliasEvent,
    CollectionEndEvent,
    CollectionStartEvent,
    CSafeLoader,
    DocumentStartEvent,
    Event,
    MappingStartEvent,
    MarkedYAMLError,
    NodeEvent,
    ScalarEvent,
    YAMLError,
)

from coterie.dsl.problem_details import Details, ProblemText, rule
from coterie.dsl.source.collected_problems import Problems
from coterie.dsl.source.nodes import Mark, Place


class RawMark(Protocol):
    """The common part of YAML's two kinds of marks."""

    index: int


class TextPositions:
    """Lines and columns as editors count them: YAML 1.1 breaks lines at more characters."""

    def __init__(self, file: str, text: str) -> None:
        self.file = file
        self.lines = text.split("\n")
        self._starts = [0, *accumulate(len(line) + 1 for line in self.lines)]

    def at(self, raw: "RawMark | None") -> Mark:
        """Return the position of one of YAML's marks."""
        return self.of(raw.index if raw is not None else 0)

    def of(self, index: int) -> Mark:
        """Return the position of a character."""
        line = bisect_right(self._starts, index)
        return Mark(self.file, line, index - self._starts[line - 1] + 1)


_ODD_SPACE = re.compile(r"[^\S\n\r\t ]|[\u200b\u2060\ufeff]")
MAX_NODES = 200_000
MAX_DEPTH = 100


def top_keys(text: str) -> Iterator[str]:
    """Yield the keys of the outermost mapping one by one, and parse no more text than needed.

    It stops early at text that `read` refuses; only `read` says whether the text is valid.
    """
    parser = CSafeLoader(text.removeprefix("\ufeff"))
    depth, is_key = 0, True
    try:
        while (event := parser.get_event()) is not None:
            if isinstance(event, CollectionEndEvent):
                depth -= 1
            elif isinstance(event, NodeEvent):
                if depth == 0 and not isinstance(event, MappingStartEvent):
                    return
                if depth == 1:
                    if is_key and isinstance(event, ScalarEvent):
                        yield event.value
                    is_key = not is_key
                if isinstance(event, CollectionStartEvent):
                    depth += 1
    except (YAMLError, UnicodeEncodeError):
        return


@rule("E004")
def not_a_mapping() -> ProblemText:
    return ProblemText(
        "the document is empty or not a mapping",
        fix="begin with `orchestration:` and `llm_config:`",
    )


def document_events(
    text: str, file: str, problems: Problems, *, may_be_list: bool = False
) -> "YamlEvents | None":
    """Return the events of one YAML document: a mapping, or a list where it may be one.

    None, and a problem, if the text is not such a document.
    """
    text = text.removeprefix("\ufeff")
    positions = TextPositions(file, text)
    events = _parse(text, positions, problems)
    allowed = CollectionStartEvent if may_be_list else MappingStartEvent
    if events is None or (events.found and isinstance(events.found[0], allowed)):
        return events
    problems.report(not_a_mapping(), Place(positions.of(0), ()))
    return None


@rule("E002")
def tab_as_indentation() -> ProblemText:
    return ProblemText(
        "YAML syntax: YAML is indented with spaces, and this is a tab",
        fix="write spaces instead of the tab",
    )


@rule("E002")
def odd_space(character: str) -> ProblemText:
    return odd_space_words(character)


def odd_space_words(character: str) -> ProblemText:
    """Word a character that looks like a space."""
    return ProblemText(
        f"YAML syntax: the character U+{ord(character):04X} looks like a space and is none",
        fix="write a space, or put the key or text in quotes",
    )


@rule("E002")
def yaml_syntax(reason: str) -> ProblemText:
    return ProblemText(
        f"YAML syntax: {reason}",
        fix="check indentation, quotes and colons on this line and the one above",
    )


@rule("E002")
def character_not_allowed(character: str) -> ProblemText:
    return ProblemText(f"YAML syntax: the character U+{ord(character):04X} is not allowed")


def _parse(text: str, positions: TextPositions, problems: Problems) -> "YamlEvents | None":
    """Return the events of YAML's parser; None, and a problem, if the text is not YAML."""
    try:
        return YamlEvents(text, positions)
    except _Refused as error:
        problems.report(error.details, Place(positions.at(error.mark), ()))
    except MarkedYAMLError as error:
        raw = error.problem_mark or error.context_mark
        if raw and raw.line >= len(text.splitlines()):
            raw = error.context_mark  # noticed only at the end; the start is more helpful
        if raw is not None and text[raw.index : raw.index + 1] == "\t":
            problems.report(tab_as_indentation(), Place(positions.at(raw), ()))
            return None
        if (odd := _odd_space_before(text, raw)) is not None:
            problems.report(odd_space(text[odd]), Place(positions.of(odd), ()))
            return None
        reason = ", ".join(part for part in (error.context, error.problem) if part)
        problems.report(yaml_syntax(reason), Place(positions.at(raw), ()))
    except (YAMLError, UnicodeEncodeError) as error:
        start = _unreadable(error, text)
        problems.report(character_not_allowed(text[start]), Place(positions.of(start), ()))
    return None


class _Refused(Exception):
    """YAML that its parser accepts, and that a reader of one tree cannot."""

    def __init__(self, mark: RawMark | None, details: Details) -> None:
        self.mark = mark
        self.details = details
        super().__init__(details.code)


@rule("E002")
def second_document() -> ProblemText:
    return ProblemText(
        "YAML syntax: a second document begins here", fix="write one document into one file"
    )


@rule("E002")
def unknown_anchor(name: str) -> ProblemText:
    return ProblemText(
        f"YAML syntax: no value before this has the anchor {name!r}",
        fix=f"write `&{name}` at the value",
    )


@rule("E002")
def repeated_anchor(name: str) -> ProblemText:
    return ProblemText(
        f"YAML syntax: another value already has the anchor {name!r}",
        fix="give each anchor its own name",
    )


@rule("E005")
def document_explodes() -> ProblemText:
    return ProblemText(
        "the document is too large, too deeply nested, or expands too far through aliases",
        fix="write less into one document, and each value where it is used",
    )


class YamlEvents:
    """The events of the one document of a text, and how they belong together.

    PyYAML's composer recurses into every level, so a text of a few kilobytes would overflow
    the stack of the whole process.

    Raises:
        _Refused: nested too deeply, or inconsistent anchors or documents.
        YAMLError: the text is not YAML.
    """

    def __init__(self, text: str, positions: TextPositions) -> None:
        self.found: list[Event] = []
        """Only the events of values."""
        self.marks: dict[int, Mark] = {}
        """`{event that starts a value: its position}`."""
        self.indents: dict[int, int] = {}
        """`{event of a `|` text: the indentation of its lines}`."""
        self.ends: dict[int, int] = {}
        """`{event that starts a collection: the event after its end}`."""
        self.anchors: dict[str, int] = {}
        """`{anchor: the event of its value}`."""
        parser = CSafeLoader(text)
        open_: list[int] = []
        while (event := parser.get_event()) is not None:
            if isinstance(event, NodeEvent):
                self._value(event, open_, positions)
            elif isinstance(event, CollectionEndEvent):
                self.ends[open_.pop()] = len(self.found) + 1
                self.found.append(event)
            elif isinstance(event, DocumentStartEvent) and self.found:
                raise _Refused(event.start_mark, second_document())

    def _value(self, event: NodeEvent, open_: list[int], positions: TextPositions) -> None:
        number = len(self.found)
        self.found.append(event)
        self.marks[number] = mark = positions.at(event.start_mark)
        if isinstance(event, ScalarEvent) and event.style == "|":
            below = (line for line in positions.lines[mark.line :] if line.strip())
            first = next(below, "")
            self.indents[number] = len(first) - len(first.lstrip(" "))
        if isinstance(event, CollectionStartEvent):
            open_.append(number)
        if len(open_) > MAX_DEPTH or number > MAX_NODES:
            raise _Refused(event.start_mark, document_explodes())
        name = event.anchor
        if name is None:
            return
        if isinstance(event, AliasEvent):
            if name not in self.anchors:
                raise _Refused(event.start_mark, unknown_anchor(name))
        elif name in self.anchors:
            raise _Refused(event.start_mark, repeated_anchor(name))
        else:
            self.anchors[name] = number


def find_odd_space(text: str) -> int | None:
    """Return the index of the first character that looks like a space and is none."""
    return match.start() if (match := _ODD_SPACE.search(text)) is not None else None


def _odd_space_before(text: str, raw: RawMark | None) -> int | None:
    """Return where such a character stands in the line of a mark, or in the one above it."""
    if raw is None:
        return None
    start = text.rfind("\n", 0, max(0, text.rfind("\n", 0, raw.index))) + 1
    end = text.find("\n", raw.index)
    offset = find_odd_space(text[start : end if end >= 0 else len(text)])
    return None if offset is None else start + offset


def _unreadable(error: YAMLError | UnicodeEncodeError, text: str) -> int:
    """Return the index of a character that YAML does not allow."""
    if isinstance(error, UnicodeEncodeError):
        return error.start
    position = getattr(error, "position", 0)  # in bytes
    return len(text.encode()[:position].decode(errors="ignore"))
