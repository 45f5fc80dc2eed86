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

from jinja2 import Template as JinjaTemplate
from jinja2 import TemplateSyntaxError, nodes
from jinja2.exceptions import TemplateError, UndefinedError
from pydantic import JsonValue

from dsl.errors import EvaluationLimitExceeded, TemplateFailed, listed
from dsl.model.evaluation_budget import EvaluationMeter, meter_of, text_bytes
from dsl.paths import MISSING, Path, get
from dsl.templates.jinja_engine import ENVIRONMENT, Absent, MeteredContext, shown
from dsl.templates.jsonable import look_up, to_json, with_views
from dsl.templates.metered_code import MAX_NESTING, metered, nesting, weight
from dsl.templates.template_paths import is_plain_path, paths, plain_pieces, single_expression

_MARKS = ("{{", "{%", "{#")


class BadTemplate(ValueError):
    """A template that no facts can fill: wrong syntax, or something that is not allowed."""

    def __init__(self, message: str, *, line: int = 1, allowed: bool = True) -> None:
        self.line = line
        self.forbidden = not allowed
        super().__init__(message)


@dataclass(frozen=True, slots=True)
class Template:
    """A parsed template."""

    text: str
    paths: Mapping[Path, int]
    """Every path that it names, `("context", "order", "id")`, in order, with its first line."""
    evaluate: Callable[[Mapping[str, object], EvaluationMeter], object]
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
    except (RecursionError, MemoryError, SyntaxError):
        raise BadTemplate("it is nested too deeply") from None


_UNCLOSED = re.compile(r"needs to be closed is '(\w+)'")


def _told(message: str) -> str:
    """Jinja2's words without its second sentence."""
    unclosed = _UNCLOSED.search(message)
    if unclosed is not None:
        return f"the block {{% {unclosed[1]} %}} is never closed"
    return message.split(". ")[0].rstrip(".")


def _parsed(text: str, statements: bool) -> Template:
    _refuse_large(text)
    tree = ENVIRONMENT.parse(text)
    _refuse(tree, statements)
    named = paths(tree)
    expression = single_expression(tree)
    if expression is not None and is_plain_path(expression):
        path = next(iter(named))
        return Template(text, named, lambda names, _: _follow(names, path), _is_json(path), True)
    pieces = plain_pieces(tree)
    if pieces is not None:
        return Template(text, named, lambda names, meter: _joined(names, pieces, meter))
    if nesting(tree) > MAX_NESTING:
        raise BadTemplate(f"it is nested too deeply, in more than {MAX_NESTING} levels")
    steps = weight([tree])
    tree = metered(tree)
    tree.set_environment(ENVIRONMENT)
    expression = single_expression(tree)
    if expression is None:
        render = _renderer(tree, steps)
        return Template(text, named, render)
    result = nodes.Assign(nodes.Name("result", "store"), expression, lineno=1)
    compute = _renderer(nodes.Template([result], lineno=1), steps, "result")
    return Template(text, named, compute, single=True)


def _renderer(
    tree: nodes.Template, steps: int, result: str | None = None
) -> Callable[[Mapping[str, object], EvaluationMeter], object]:
    """Runs the compiled tree: gives what it writes, or the variable that it sets."""
    template = ENVIRONMENT.from_string(tree)

    def run(names: Mapping[str, object], meter: EvaluationMeter) -> object:
        meter.charge(steps)
        context = cast("MeteredContext", template.new_context(dict(names)))
        context.meter = meter
        pieces = list(template.root_render_func(context))  # each was charged as it was written
        if result is not None:
            return context.vars[result]
        meter.charge(0, sum(map(text_bytes, pieces)))
        return "".join(pieces)

    return run


_MAX_WORDS = 8000
_MAX_BRACKETS = 25
_NO_WORD = frozenset({"data", "whitespace", "comment"})


def _refuse_large(text: str) -> None:
    """Refuse more code than is parsed in little time and stack."""
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


def _is_json(path: Path) -> bool:
    """Whether a path of the facts ends in JSON, and not at or above an Outcome."""
    match path:
        case ("tasks", _, "data", *_) | ("teams", _, "tasks", _, "data", *_):
            return True
        case ("tasks" | "teams", *_):
            return False
        case _:
            return True


def _joined(
    names: Mapping[str, object], pieces: tuple[str | Path, ...], meter: EvaluationMeter
) -> str:
    meter.charge(len(pieces))
    texts = [
        piece if type(piece) is str else str(shown(_follow(names, cast("Path", piece)), meter))
        for piece in pieces
    ]
    meter.charge(0, sum(map(text_bytes, texts)))
    return "".join(texts)


def _follow(names: Mapping[str, object], path: Path) -> object:
    """The value at a path of the facts, shared and not copied: facts are immutable."""
    value: object = names
    for depth, segment in enumerate(path):
        value = look_up(value, segment)
        if value is MISSING:
            return ENVIRONMENT.undefined(name=".".join(path[: depth + 1]))
    return value


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
"""Every node that is charged for; what is not here is refused."""


def _refuse(tree: nodes.Template, statements: bool) -> None:
    for node in tree.find_all(nodes.Node):
        refusal = _refusal(node, statements)
        if refusal is not None:
            raise BadTemplate(refusal, line=node.lineno, allowed=False)


def _refusal(node: nodes.Node, statements: bool) -> str | None:
    """Why the node is not allowed."""
    match node:
        case nodes.Pow():
            return "`**` is not part of the language"
        case nodes.Filter(name=name) if name not in ENVIRONMENT.filters:
            return f"there is no filter {name!r}"
        case nodes.Test(name=name) if name not in ENVIRONMENT.tests:
            return f"there is no test {name!r}"
        case _ if isinstance(node, _REACHING_OUT):
            return "a template stands alone: it includes nothing"
        case _ if isinstance(node, _STATEMENTS):
            return None if statements else "{% ... %} is allowed in prompts only"
        case _ if not isinstance(node, _LANGUAGE):
            return f"{type(node).__name__} is not part of the language"
        case _:
            return None


def fill(value: JsonValue, names: Mapping[str, object]) -> JsonValue:
    """The value with every template in it filled; nothing that comes out is a template again.

    Raises:
        TemplateFailed: a name has no value, or the expression cannot be evaluated.
        EvaluationLimitExceeded: all templates together need more than one evaluation may take.
    """
    return _filled(value, names, meter_of(names))


def _filled(value: JsonValue, names: Mapping[str, object], meter: EvaluationMeter) -> JsonValue:
    match value:
        case str():
            return _evaluate(value, names, meter) if is_template(value) else value
        case dict():
            return {key: _filled(item, names, meter) for key, item in value.items()}
        case list():
            return [_filled(item, names, meter) for item in value]
        case _:
            return value


def fill_text(text: str, names: Mapping[str, object]) -> str:
    """A prompt with its templates filled, always a text; statements are allowed.

    Raises:
        TemplateFailed: as `fill`.
    """
    if not is_template(text):
        return text
    result = _evaluate(text, names, meter_of(names), statements=True)
    return result if isinstance(result, str) else json.dumps(result, ensure_ascii=False)


def _evaluate(
    text: str, names: Mapping[str, object], meter: EvaluationMeter, *, statements: bool = False
) -> JsonValue:
    try:
        template = parse(text, statements=statements)
    except BadTemplate as error:
        raise TemplateFailed(f"{_shortened(text)} does not work: {error}") from None
    try:
        result = template.evaluate(names, meter)
        if template.shares and not isinstance(result, Absent):
            return cast("JsonValue", result)
        return to_json(result, meter) if template.single else cast("str", result)
    except UndefinedError:
        raise TemplateFailed(_absent_message(template, names)) from None
    except EvaluationLimitExceeded as error:
        message = f"{_shortened(text)} is given up{_line(error, text)}: {error}"
        raise EvaluationLimitExceeded(message, bound=error.bound) from None
    except (
        TemplateError,
        ArithmeticError,
        TypeError,
        ValueError,
        LookupError,
        AttributeError,
        RecursionError,
        MemoryError,
        AssertionError,
    ) as error:
        told = str(error) or type(error).__name__
        where = _line(error, text)
        raise TemplateFailed(f"{_shortened(text)} cannot be evaluated{where}: {told}") from None


def _line(error: BaseException, text: str) -> str:
    """In which line of a longer template it happened."""
    if "\n" not in text:
        return ""
    found = 0
    trace = error.__traceback__
    while trace is not None:
        template: object = trace.tb_frame.f_globals.get("__jinja_template__")
        if isinstance(template, JinjaTemplate):
            found = template.get_corresponding_lineno(trace.tb_lineno)
        trace = trace.tb_next
    return f" in line {found}" if found else ""


def _shortened(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 80 else f"{line[:77]}..."


def _absent_message(template: Template, names: Mapping[str, object]) -> str:
    views = cast("Mapping[str, object]", with_views(names))
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
