"""The rules of templates: the allowed nodes, and the maximum of code."""

from collections.abc import Collection
from math import isfinite

from jinja2 import nodes

from coterie.dsl.templates.jinja_engine import ENVIRONMENT
from coterie.dsl.visible import is_unicode


class BadTemplate(ValueError):
    """An invalid template: wrong syntax, or something that is not allowed."""

    def __init__(
        self,
        message: str,
        *,
        line: int = 1,
        allowed: bool = True,
        name: str = "",
        known: Collection[str] = (),
    ) -> None:
        self.line = line
        self.forbidden = not allowed
        self.name = name
        """Of the filter or test that there is not."""
        self.known = known
        """The filters or tests that there are."""
        super().__init__(message)


_MAX_WORDS = 8000
_MAX_BRACKETS = 25
_NO_WORD = frozenset({"data", "whitespace", "comment"})


def refuse_large(text: str) -> None:
    """Refuse a template that is too large to parse in bounded time and stack.

    Raises:
        BadTemplate: with the line where it becomes too much.
    """
    words = depth = 0
    for line, kind, word in ENVIRONMENT.lexer.tokeniter(text, None):
        if kind in _NO_WORD:
            continue
        words += 1
        if words > _MAX_WORDS:
            raise BadTemplate(f"it has more than {_MAX_WORDS:,} words of code", line=line)
        if kind == "operator":
            depth += (word in "([{") - (word in ")]}")
            if depth > _MAX_BRACKETS:
                raise BadTemplate(
                    f"it is nested too deeply, in more than {_MAX_BRACKETS} brackets", line=line
                )


_REACHING_OUT = (nodes.Import, nodes.FromImport, nodes.Include, nodes.Extends, nodes.Block)


_STATEMENTS = (
    nodes.For,
    nodes.If,
    nodes.Assign,
    nodes.AssignBlock,
    nodes.Macro,
    nodes.CallBlock,
    nodes.FilterBlock,
    nodes.With,
)


_LANGUAGE = (
    nodes.Template,
    nodes.Output,
    nodes.TemplateData,
    nodes.Const,
    nodes.Name,
    nodes.Getattr,
    nodes.Getitem,
    nodes.Slice,
    nodes.List,
    nodes.Tuple,
    nodes.Dict,
    nodes.Pair,
    nodes.Keyword,
    nodes.Add,
    nodes.Sub,
    nodes.Mul,
    nodes.Div,
    nodes.FloorDiv,
    nodes.Mod,
    nodes.Pow,
    nodes.Neg,
    nodes.Pos,
    nodes.Not,
    nodes.And,
    nodes.Or,
    nodes.Compare,
    nodes.Operand,
    nodes.Concat,
    nodes.CondExpr,
    nodes.Call,
    nodes.Filter,
    nodes.Test,
)
"""Every allowed node, all of which are charged; every other node is refused."""


def refuse_nodes(tree: nodes.Template, statements: bool) -> None:
    """Refuse every node that is not part of the language, and statements outside of prompts.

    Raises:
        BadTemplate: with the line of the first such node.
    """
    for node in tree.find_all(nodes.Node):
        unknown = _unknown(node)
        if unknown is not None:
            raise unknown
        refusal = _refusal(node, statements)
        if refusal is not None:
            raise BadTemplate(refusal, line=node.lineno, allowed=False)


def _unknown(node: nodes.Node) -> BadTemplate | None:
    """Return the problem of a filter or test that the language does not have."""
    match node:
        case nodes.Filter(name=name) if name not in ENVIRONMENT.filters:
            kind, names = "filter", ENVIRONMENT.filters
        case nodes.Test(name=name) if name not in ENVIRONMENT.tests:
            kind, names = "test", ENVIRONMENT.tests
        case _:
            return None
    return BadTemplate(
        f"there is no {kind} {name!r}",
        line=node.lineno,
        allowed=False,
        name=name,
        known=[candidate for candidate in names if candidate.isidentifier()],
    )


def _refusal(node: nodes.Node, statements: bool) -> str | None:
    """Return why the node is not allowed."""
    match node:
        case nodes.Pow():
            return "`**` is not part of the language"
        case nodes.Const(value=float() as number) if not isfinite(number):
            return "a number in it is beyond all numbers that JSON has"
        case nodes.Const(value=str() as text) | nodes.TemplateData(data=text) if not is_unicode(
            text
        ):
            return f"{ascii(text)[:60]} contains half of a surrogate pair, not a character"
        case _ if isinstance(node, _REACHING_OUT):
            return "a template stands alone: it includes nothing"
        case _ if isinstance(node, _STATEMENTS):
            return None if statements else "{% ... %} is allowed in prompts only"
        case _ if not isinstance(node, _LANGUAGE):
            return f"{type(node).__name__} is not part of the language"
        case _:
            return None
