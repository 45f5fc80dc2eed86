"""Templates: `{{ ... }}` over the facts, sandboxed and strict, parsed once and rendered purely.

Jinja2 without randomness, clocks and statements that reach outside. An undefined name is an error
that lists the existing names. A string that is one single expression keeps its type. Data wins over
Python: `context.items` is the field `items`, never a method of a dict.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import cast

from jinja2 import TemplateSyntaxError, nodes
from jinja2.exceptions import TemplateError

from coterie.dsl.model.evaluation_budget import EvaluationMeter, text_bytes
from coterie.dsl.paths import MISSING, Path
from coterie.dsl.templates.jinja_engine import ENVIRONMENT, MeteredContext, shown
from coterie.dsl.templates.jsonable import look_up
from coterie.dsl.templates.metered_code import MAX_NESTING, metered, nesting, weight
from coterie.dsl.templates.template_paths import (
    is_plain_path,
    paths,
    plain_pieces,
    single_expression,
)
from coterie.dsl.templates.template_rules import BadTemplate, refuse_large, refuse_nodes

_MARKS = ("{{", "{%", "{#")


@dataclass(frozen=True, slots=True)
class Template:
    """A parsed template."""

    text: str
    paths: Mapping[Path, int]
    """Every path that it names, `("context", "order", "id")`, in order, with its first line."""
    evaluate: Callable[[Mapping[str, object], EvaluationMeter], object]
    shares: bool = False
    """Whether it gives a part of the facts unchanged: JSON, shared because facts never change."""
    single: bool = False
    """Whether the text is one expression and nothing else: its result keeps its type."""


def is_template(text: str) -> bool:
    """Return whether the text has any template mark."""
    return "{" in text and any(mark in text for mark in _MARKS)


def plain_path(text: str) -> Path | None:
    """Return the path that a template names and adds nothing to; None for any other text."""
    try:
        template = parse(text) if is_template(text) else None
    except BadTemplate:
        return None
    if template is None or not template.shares or len(template.paths) != 1:
        return None
    return next(iter(template.paths))


def parse(text: str, *, statements: bool = False) -> Template:
    """Parse a template, once for all; `statements` allows `{% ... %}` (prompts only).

    Raises:
        BadTemplate: with the line within the text.
    """
    return parse_cached(text, statements)


@lru_cache(maxsize=8192)
def parse_cached(text: str, statements: bool) -> Template:
    """Parse a template; all callers share one entry for a text, however they pass the argument."""
    try:
        return _parse_text(text, statements)
    except TemplateSyntaxError as error:
        raise BadTemplate(
            _first_sentence(error.message or "does not parse"), line=error.lineno
        ) from None
    except TemplateError as error:
        raise BadTemplate(error.message or str(error)) from None
    except (RecursionError, MemoryError, SyntaxError):
        raise BadTemplate("it is nested too deeply") from None


_UNCLOSED = re.compile(r"needs to be closed is '(\w+)'")


def _first_sentence(message: str) -> str:
    """Return Jinja2's message without its second sentence."""
    unclosed = _UNCLOSED.search(message)
    if unclosed is not None:
        return f"the block {{% {unclosed[1]} %}} is never closed"
    return message.split(". ")[0].rstrip(".")


def _parse_text(text: str, statements: bool) -> Template:
    refuse_large(text)
    tree = ENVIRONMENT.parse(text)
    refuse_nodes(tree, statements)
    named = paths(tree)
    expression = single_expression(tree)
    if expression is not None and is_plain_path(expression):
        path = next(iter(named))
        return Template(text, named, lambda names, _: _follow(names, path), _is_json(path), True)
    pieces = plain_pieces(tree)
    if pieces is not None:
        return Template(text, named, lambda names, meter: _join_pieces(names, pieces, meter))
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
    """Return a function that runs the compiled tree: its output, or the variable that it sets."""
    template = ENVIRONMENT.from_string(tree)

    def run(names: Mapping[str, object], meter: EvaluationMeter) -> object:
        meter.charge(steps)
        context = cast("MeteredContext", template.new_context(dict(names)))
        context.meter = meter
        pieces = list(template.root_render_func(context))  # each was charged when written
        if result is not None:
            return context.vars[result]
        meter.charge(0, sum(map(text_bytes, pieces)))
        return "".join(pieces)

    return run


def _is_json(path: Path) -> bool:
    """Return whether a path of the facts ends in JSON, and not at or above an Outcome."""
    match path:
        case ("tasks", _, "data", *_) | ("teams", _, "tasks", _, "data", *_):
            return True
        case ("tasks" | "teams", *_):
            return False
        case _:
            return True


def _join_pieces(
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
    """Return the value at a path of the facts, shared and not copied: facts are immutable."""
    value: object = names
    for depth, segment in enumerate(path):
        value = look_up(value, segment)
        if value is MISSING:
            return ENVIRONMENT.undefined(name=".".join(path[: depth + 1]))
    return value
