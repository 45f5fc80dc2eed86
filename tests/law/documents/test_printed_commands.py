"""A command that we print runs as printed: every value is quoted for the shell, and is a value."""

import ast
import re
from collections.abc import Iterator

from coterie.commands.table import VERBS
from tests.law.sources import ROOT, modules

_COMMAND = re.compile(rf"\bcoterie (?:{'|'.join(VERBS)})(?: (?!\s)[^`'\"\s][^`'\"\s]*)* $")


def test_every_value_in_a_printed_command_is_quoted() -> None:
    unquoted = [
        f"{file.relative_to(ROOT)}:{value.lineno}"
        for _, file in modules("coterie")
        for value in _values(ast.parse(file.read_text()))
        if not _is_quoted(value.value)
    ]
    assert unquoted == [], "print {quote(value)}, with shlex.quote"


def _values(tree: ast.Module) -> Iterator[ast.FormattedValue]:
    """The values that directly follow the words of a command in an f-string."""
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            before = ""
            for part in node.values:
                if isinstance(part, ast.FormattedValue):
                    if _COMMAND.search(before):
                        yield part
                    before += "VALUE"
                else:
                    before += str(part.value) if isinstance(part, ast.Constant) else ""


def _is_quoted(value: ast.expr) -> bool:
    """Whether it is a call of `quote`, a constant, or words that were quoted before."""
    match value:
        case ast.Call(func=ast.Name(id="quote") | ast.Attribute(attr="quote")):
            return True
        case ast.Name(id=name):
            return name.isupper() or name in ("words", "task")
        case _:
            return False


ROOMS = ("activities", "coterie", "dsl", "workflows")
ALLOWED = {
    "coterie export RUN --sql URL": "the person has named no run",
    "coterie start FILE": "what a run was given has another form",
    "coterie run FILE": "the document came without its file",
    "coterie index PATH": "nobody knows where the texts are",
}
"""Commands whose values nobody has said yet."""
_SUGGESTED = re.compile(r"\b(?:coterie|temporal) [a-z]+[^`,;)]*")
_PLACEHOLDER = re.compile(r"(?<![-$\w{])[A-Z]{3,}(?:#[A-Z]+)?(?![\w(])|(?<=--[a-z]{7} )N\b")


def _texts(tree: ast.AST) -> Iterator[str]:
    """Yield what a module may print: its texts but docstrings, with `{}` for each value."""
    inner = {
        part for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values
    }
    docs = {node.value for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if node in inner or node in docs:
            continue
        if isinstance(node, ast.JoinedStr):
            parts = (
                str(one.value) if isinstance(one, ast.Constant) else "{}" for one in node.values
            )
            yield "".join(parts)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def test_no_suggested_command_has_a_placeholder_where_a_value_is_known() -> None:
    found: set[str] = set()
    for room in ROOMS:
        for _, file in modules(room):
            text = file.read_text()
            if "coterie " not in text and "temporal " not in text:
                continue
            for said in _texts(ast.parse(text)):
                commands = (one[0].strip() for one in _SUGGESTED.finditer(said))
                found |= {one for one in commands if _PLACEHOLDER.search(one)}
    assert found == set(ALLOWED), "print a value"
