"""A command that we print runs as printed: every value in it is quoted for the shell."""

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
