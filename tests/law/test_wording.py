"""Prose uses the short form: phrases that a reader parses twice do not occur."""

import ast
import io
import re
import tokenize
from argparse import ArgumentParser
from collections.abc import Iterator
from functools import cache
from importlib import import_module

import pytest

from coterie.commands.table import VERBS
from tests.law.sources import ROOT, modules

INSTEAD = {
    r"\btold\b(?!:)": "reports, prints, says, receives",
    r"\bwhoever\b": "anyone who",
    r"\b(is|are) to be\b": "must be",
    r"\bunless (it )?sa(id|ys)\b": "default",
    r"\b(when|where|if) said\b": "if set",
    r"\bsaid of\b": "set for",
    r"\bsays? nothing of it\b": "does not set it",
    r"\bplayed model\b": "stub model",
    r"\bonlooker\b": "observer",
    r"\bas it stands\b": "literal, unchanged",
    r"\bin silence\b": "silently",
    r"\bcures?\b": "fix",
    r"\btried again\b": "retried",
    r"\bgo(es)? on\b": "continues",
    r"\bfor ever\b": "forever",
    r"\bbecause of what\b": "why",
    r"\bheld against\b": "compared with, checked against",
    r"\bmisspelt\b": "misspelled",
    r"\bso (many|much|long) (of|branches|rounds)\b": "this many",
    r"(?<!here )\b(is|are) no (?!longer|more|problem|recorded)": "is not a",
}
"""`{a phrase that is banned: what to write}`."""

RENAMES = ROOT / "docs" / "decisions" / "0014-rooms-have-shelves.md"  # a list of old names
PAGES = sorted(
    page
    for page in (
        *ROOT.glob("*.md"),
        *(ROOT / "docs").rglob("*.md"),
        *(ROOT / "examples").rglob("*.md"),
        *(ROOT / "bench").rglob("*.md"),
    )
    if page != RENAMES
)

ROOMS = ("activities", "coterie", "dsl", "gateway", "workflows")
"""The rooms whose docstrings, comments and names are checked."""
PRIVATE_WORDS = frozenset(
    {
        *("deed", "happening", "misfit", "misfits", "onlooker", "pot", "telling", "told"),
        *("unfilled", "untold", "way", "ways", "witness"),
    }
)
"""Words of names that say nothing to a reader of another code base."""


def found(text: str) -> Iterator[str]:
    """`'the phrase': what to write`, for each banned phrase of a text."""
    flat = " ".join(text.split())
    for phrase, instead in INSTEAD.items():
        for match in re.finditer(phrase, flat):
            around = flat[max(0, match.start() - 30) : match.end() + 30]
            yield f"...{around}...: write {instead}"


def prose(page: str) -> str:
    """A page without its code."""
    fenced = re.sub(r"^[ >]*```.*?^[ >]*```", "", page, flags=re.MULTILINE | re.DOTALL)
    return re.sub(r"`[^`\n]*`", "", fenced)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_pages_use_the_short_form(page: str) -> None:
    assert list(found(prose((ROOT / page).read_text()))) == []


@pytest.mark.parametrize("verb", VERBS)
def test_command_help_uses_the_short_form(verb: str) -> None:
    parser = ArgumentParser(description=VERBS[verb].summary)
    import_module(VERBS[verb].module).add_arguments(parser)
    assert list(found(parser.format_help())) == []


def own_words(source: str) -> Iterator[str]:
    """The docstrings and comments of a module."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Expr(value=ast.Constant(value=str(text))):
                yield text
            case _:
                pass
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield token.string


@pytest.mark.parametrize("room", ROOMS)
def test_docstrings_and_comments_use_the_short_form(room: str) -> None:
    assert [
        f"{name}: {phrase}"
        for name, file in modules(room)
        for text in own_words(file.read_text())
        for phrase in found(re.sub(r"`[^`\n]*`", "", text))
    ] == []


def test_a_banned_phrase_is_found_across_a_line_break() -> None:
    assert len(list(found("It is to\nbe set, unless\nsaid."))) == 2


@cache
def words_of(name: str) -> frozenset[str]:
    """The words of a name, in lower case."""
    return frozenset(map(str.lower, re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", name)))


def test_the_words_of_a_name_are_found_in_every_case() -> None:
    assert words_of("_TOLD") == {"told"}
    assert words_of("WayBack") == {"way", "back"}
    assert words_of("names_a_way") == {"names", "a", "way"}
    assert words_of("halfway") == {"halfway"}


@pytest.mark.parametrize("room", ROOMS)
def test_code_uses_the_names_of_the_field(room: str) -> None:
    private = [
        f"{name}: {token.string}"
        for name, file in modules(room)
        for token in tokenize.generate_tokens(io.StringIO(file.read_text()).readline)
        if token.type == tokenize.NAME and not PRIVATE_WORDS.isdisjoint(words_of(token.string))
    ]
    assert private == []
