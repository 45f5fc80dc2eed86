"""Templates: `{{ ... }}` over the facts, sandboxed and strict, parsed once and filled purely.

Jinja2 without chance, clocks and statements that reach out. An undefined name is an error that
says what there is instead. A string that is one single expression keeps its type. Data wins
over Python: `context.items` is the field `items`, never a method of a dict.
"""

import json
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import cast

from jinja2 import TemplateSyntaxError, nodes
from jinja2.environment import TemplateExpression
from jinja2.exceptions import TemplateError, UndefinedError
from pydantic import JsonValue

from dsl.errors import TemplateFailed, listed
from dsl.jsonable import look_up, to_json, with_views
from dsl.paths import MISSING, Path, get
from dsl.template_engine import (
    ENVIRONMENT,
    LARGEST,
    Absent,
    Shown,
    shown,
)
from dsl.template_trees import is_plain_path, paths, plain_pieces, single_expression

_MARKS = ("{{", "{%", "{#")


class BadTemplate(ValueError):
    """A template that no facts can fill: wrong syntax, or something that is not allowed."""

    def __init__(self, message: str, *, line: int = 1, allowed: bool = True) -> None:
        self.line = line
        self.forbidden = not allowed
        super().__init__(message)


Names = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Template:
    """A parsed template."""

    text: str
    paths: Mapping[Path, int]
    """Every path that it names, `("context", "order", "id")`, in order, with its first line."""
    evaluate: Callable[[Names], object]
    shares: bool = False
    """It gives a part of the facts as it is: JSON already, shared because facts never change."""
    single: bool = False
    """The text is one expression and nothing else: what it gives keeps its type."""


def is_template(text: str) -> bool:
    """Whether the text has any template mark at all."""
    return "{" in text and any(mark in text for mark in _MARKS)


@lru_cache(maxsize=8192)
def parse(text: str, *, statements: bool = False) -> Template:
    """The template, parsed once for all; `statements` allows `{% ... %}` (prompts only).

    Raises:
        BadTemplate: with the line within the text.
    """
    try:
        return _parsed(text, statements)
    except TemplateSyntaxError as error:
        raise BadTemplate(_told(error.message or "does not parse"), line=error.lineno) from None
    except TemplateError as error:
        raise BadTemplate(error.message or str(error)) from None
    except (RecursionError, MemoryError):
        raise BadTemplate("it is nested too deeply") from None


_UNCLOSED = re.compile(r"needs to be closed is '(\w+)'")


def _told(message: str) -> str:
    """Jinja2's words without its second sentence."""
    unclosed = _UNCLOSED.search(message)
    if unclosed is not None:
        return f"the block {{% {unclosed[1]} %}} is never closed"
    return message.split(". ")[0].rstrip(".")


def _parsed(text: str, statements: bool) -> Template:
    tree = ENVIRONMENT.parse(text)
    _refuse(tree, statements)
    named = paths(tree)
    expression = single_expression(tree)
    if expression is not None and is_plain_path(expression):
        path = next(iter(named))
        return Template(text, named, lambda names: _follow(names, path), _is_json(path), True)
    pieces = plain_pieces(tree)
    if pieces is not None:
        return Template(text, named, lambda names: _joined(names, pieces))
    tree = cast("nodes.Template", Shown().visit(tree))
    tree.set_environment(ENVIRONMENT)
    expression = single_expression(tree)
    if expression is None:
        template = ENVIRONMENT.from_string(tree)
        return Template(text, named, lambda names: template.render(names))
    result = nodes.Assign(nodes.Name("result", "store"), expression, lineno=1)
    compiled = TemplateExpression(
        ENVIRONMENT.from_string(nodes.Template([result], lineno=1)), undefined_to_none=False
    )
    return Template(text, named, lambda names: compiled(names), single=True)


def _is_json(path: Path) -> bool:
    """Whether a path of the facts ends in JSON, and not at or above an Outcome."""
    match path:
        case ("tasks", _, "data", *_) | ("teams", _, "tasks", _, "data", *_):
            return True
        case ("tasks" | "teams", *_):
            return False
        case _:
            return True


def _joined(names: Names, pieces: tuple[str | Path, ...]) -> str:
    return "".join(
        piece if type(piece) is str else str(shown(_follow(names, cast("Path", piece))))
        for piece in pieces
    )


def _follow(names: Names, path: Path) -> object:
    """The value at a path of the facts, shared and not copied: facts are immutable."""
    value: object = names
    for depth, segment in enumerate(path):
        value = look_up(value, segment)
        if value is MISSING:
            return ENVIRONMENT.undefined(name=".".join(path[: depth + 1]))
    return value


_REACHING_OUT = (nodes.Import, nodes.FromImport, nodes.Include, nodes.Extends, nodes.Block)
_STATEMENTS = (nodes.For, nodes.If, nodes.Assign, nodes.AssignBlock, nodes.Macro, nodes.CallBlock,
               nodes.FilterBlock, nodes.With)  # fmt: skip


def _refuse(tree: nodes.Template, statements: bool) -> None:
    for node in tree.find_all((*_REACHING_OUT, *_STATEMENTS, nodes.Pow)):
        if isinstance(node, _REACHING_OUT):
            raise BadTemplate("a template stands alone: it includes nothing", line=node.lineno,
                              allowed=False)  # fmt: skip
        if isinstance(node, nodes.Pow):
            raise BadTemplate("`**` is not part of the language", line=node.lineno, allowed=False)
        if not statements:
            raise BadTemplate("{% ... %} is allowed in prompts only", line=node.lineno,
                              allowed=False)  # fmt: skip
    for node in tree.find_all(nodes.Filter):
        if node.name not in ENVIRONMENT.filters:
            raise BadTemplate(f"there is no filter {node.name!r}", line=node.lineno, allowed=False)
    for node in tree.find_all(nodes.Test):
        if node.name not in ENVIRONMENT.tests:
            raise BadTemplate(f"there is no test {node.name!r}", line=node.lineno, allowed=False)


def fill(value: JsonValue, names: Names) -> JsonValue:
    """The value with every template in it filled; nothing that comes out is a template again.

    Raises:
        TemplateFailed: a name has no value, or the expression cannot be evaluated.
    """
    match value:
        case str():
            return _evaluate(value, names) if is_template(value) else value
        case dict():
            return {key: fill(item, names) for key, item in value.items()}
        case list():
            return [fill(item, names) for item in value]
        case _:
            return value


def fill_text(text: str, names: Names) -> str:
    """A prompt with its templates filled, always a text; statements are allowed.

    Raises:
        TemplateFailed: as `fill`.
    """
    if not is_template(text):
        return text
    result = _evaluate(text, names, statements=True)
    return result if isinstance(result, str) else json.dumps(result, ensure_ascii=False)


def _evaluate(text: str, names: Names, *, statements: bool = False) -> JsonValue:
    try:
        template = parse(text, statements=statements)
    except BadTemplate as error:
        raise TemplateFailed(f"{_shortened(text)} does not work: {error}") from None
    try:
        result = template.evaluate(names)
        if template.shares and not isinstance(result, Absent):
            return cast("JsonValue", result)
        if isinstance(result, str) and len(result) > LARGEST:
            raise ValueError(f"it makes {len(result):,} characters, more than {LARGEST:,}")
        return to_json(result)
    except UndefinedError:
        raise TemplateFailed(_absent_message(template, names)) from None
    except (
        TemplateError, ArithmeticError, TypeError, ValueError, LookupError, AttributeError,
        RecursionError, MemoryError,
    ) as error:  # fmt: skip
        told = str(error) or type(error).__name__
        raise TemplateFailed(f"{_shortened(text)} cannot be evaluated: {told}") from None


def _shortened(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 80 else f"{line[:77]}..."


def _absent_message(template: Template, names: Names) -> str:
    views = cast("Names", with_views(names))
    for path in template.paths:
        for length in range(1, len(path) + 1):
            if get(views, path[:length]) is MISSING:
                above = get(views, path[: length - 1])
                known = above if isinstance(above, dict) else dict[str, JsonValue]()
                where = ".".join(path[: length - 1]) or "here"
                return (
                    f"{_shortened(template.text)}: {'.'.join(path)} has no value "
                    f"({where} has: {listed(known)})"
                )
    return f"{_shortened(template.text)}: a name in it has no value"


_BRACES = re.compile(r"\{\{|\}\}|\{([A-Za-z_]\w*(?:\.\w+)*)\}")


def braces_to_template(text: str, known_inputs: Collection[str]) -> str:
    """A prompt of the older syntax as a template.

    `{name}` becomes the input of that name, or else the context's field; doubled braces are
    single ones; every other brace stays as it is.
    """
    pieces: list[str] = []
    end = 0
    for match in _BRACES.finditer(text):
        pieces.append(_literal(text[end : match.start()]))
        end = match.end()
        name = match[1]
        if name is None:
            pieces.append(_literal(match[0][0]))
        else:
            root = "input" if name.split(".")[0] in known_inputs else "context"
            pieces.append(f"{{{{ {root}.{name} }}}}")
    pieces.append(_literal(text[end:]))
    return "".join(pieces)


def _literal(text: str) -> str:
    return f"{{{{ {json.dumps(text)} }}}}" if "{" in text else text
