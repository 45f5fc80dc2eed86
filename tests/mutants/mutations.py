"""Ways in which one expression or statement of a module can be wrong.

A mutant replaces one stretch of source text, so that everything else keeps its line and column.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

COMPARISONS: dict[type[ast.cmpop], str] = {
    ast.Eq: "!=",
    ast.NotEq: "==",
    ast.Lt: "<=",
    ast.LtE: "<",
    ast.Gt: ">=",
    ast.GtE: ">",
    ast.In: "not in",
    ast.NotIn: "in",
    ast.Is: "is not",
    ast.IsNot: "is",
}
ARITHMETIC: dict[type[ast.operator], str] = {ast.Add: "-", ast.Sub: "+", ast.Mult: "//"}
MAX_COUNT = 10
"""Larger numbers are sizes: no promise names their last digit."""
OPPOSITES = {"min": "max", "max": "min", "any": "all", "all": "any"}


@dataclass(frozen=True)
class Mutant:
    """One wrong version of a module: the text between two offsets becomes another."""

    path: Path
    line: int
    kind: str
    start: int
    end: int
    before: str
    after: str

    def applied(self, source: str) -> str:
        """The source of the module with this one change."""
        assert source[self.start : self.end] == self.before
        return source[: self.start] + self.after + source[self.end :]

    def described(self) -> str:
        """The change in one line."""
        before, after = (" ".join(text.split()) for text in (self.before, self.after))
        return f"{self.path}:{self.line} {self.kind}: {before} -> {after}"


def mutants_of(path: Path, source: str) -> list[Mutant]:
    """Every mutant of a module, in the order of its text."""
    found = (m for m in _Reader(path, source).all() if m.before != m.after)
    return sorted(found, key=lambda mutant: (mutant.start, mutant.kind))


class _Reader:
    """Walks the functions of one module."""

    def __init__(self, path: Path, source: str) -> None:
        self._path = path
        self._source = source
        self._lines = [0]
        for line in source.splitlines(keepends=True):
            self._lines.append(self._lines[-1] + len(line.encode()))
        self._bytes = source.encode()

    def all(self) -> Iterator[Mutant]:
        for node in ast.walk(ast.parse(self._source)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                for statement in node.body:
                    yield from self._inside(statement)

    def _inside(self, node: ast.AST) -> Iterator[Mutant]:
        """The mutants of a statement, without what never decides: types, messages, `raise`."""
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef() | ast.Raise():
                return  # a function is walked for itself; the text of a failure decides nothing
            case ast.Assert() | ast.JoinedStr() | ast.Import() | ast.ImportFrom():
                return
            case ast.Expr(value=ast.Constant()):
                return
            case ast.Call(func=ast.Name(id="zip"), args=args):
                children = list[ast.AST](args)  # `strict` is an assertion
            case ast.keyword(arg="usedforsecurity"):
                return  # what a hash is for decides nothing
            case ast.AnnAssign(value=value):
                children = [value] if value else []
            case _:
                children = list(ast.iter_child_nodes(node))
        yield from self._of(node)
        for child in children:
            yield from self._inside(child)

    def _of(self, node: ast.AST) -> Iterator[Mutant]:  # noqa: C901 - one case per kind of mutant
        match node:
            case ast.Compare(left=left, ops=[operator], comparators=[right]):
                if (other := COMPARISONS.get(type(operator))) is not None:
                    text = f"{self._text(left)} {other} {self._text(right)}"
                    yield self._mutant(node, "comparison", text)
            case ast.BoolOp(op=operator, values=values):
                word = " or " if isinstance(operator, ast.And) else " and "
                yield self._mutant(
                    node, "and/or", word.join(f"({self._text(value)})" for value in values)
                )
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                yield self._mutant(node, "negation", f"({self._text(operand)})")
            case ast.If(test=test) | ast.While(test=test) | ast.IfExp(test=test):
                yield self._mutant(test, "condition", f"(not ({self._text(test)}))")
            case ast.Constant(value=bool(value)):
                yield self._mutant(node, "constant", str(not value))
            case ast.Constant(value=int(value)) if abs(value) <= MAX_COUNT:
                yield self._mutant(node, "constant", str(value + 1))
            case ast.Return(value=ast.expr() as value):
                if not _is_none_or_false(value):
                    yield self._mutant(value, "return", "None")
            case ast.BinOp(left=left, op=operator, right=right):
                if (other := ARITHMETIC.get(type(operator))) is not None:
                    text = f"{self._text(left)} {other} {self._text(right)}"
                    yield self._mutant(node, "arithmetic", text)
            case ast.Call(func=ast.Name(id=name) as function) if name in OPPOSITES:
                yield self._mutant(function, "opposite", OPPOSITES[name])
            case ast.Expr(value=ast.Call() | ast.Await()):
                yield self._mutant(node, "left out", "pass")
            case ast.Break():
                yield self._mutant(node, "loop", "continue")
            case ast.Continue():
                yield self._mutant(node, "loop", "break")
            case _:
                pass

    def _offset(self, line: int, column: int) -> int:
        return len(self._bytes[: self._lines[line - 1] + column].decode())

    def _text(self, node: ast.expr) -> str:
        segment = ast.get_source_segment(self._source, node)
        assert segment is not None
        return segment

    def _mutant(self, node: ast.expr | ast.stmt, kind: str, after: str) -> Mutant:
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        start = self._offset(node.lineno, node.col_offset)
        end = self._offset(node.end_lineno, node.end_col_offset)
        return Mutant(self._path, node.lineno, kind, start, end, self._source[start:end], after)


def _is_none_or_false(value: ast.expr) -> bool:
    """Whether None instead of this value changes no condition."""
    return isinstance(value, ast.Constant) and (value.value is None or value.value is False)


def compiles(mutant: Mutant, source: str) -> bool:
    """Whether the wrong version is Python at all."""
    try:
        ast.parse(mutant.applied(source))
    except SyntaxError:
        return False
    return True


def relative(mutant: Mutant, root: Path) -> Mutant:
    """The same mutant, with its path from the root of the project."""
    return replace(mutant, path=mutant.path.relative_to(root))
