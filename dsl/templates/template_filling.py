"""Templates rendered with facts: values, texts, and the errors when that fails."""

import json
from collections.abc import Mapping
from typing import cast

from jinja2 import Template as JinjaTemplate
from jinja2.exceptions import TemplateError, UndefinedError
from pydantic import JsonValue

from coterie.dsl.errors import EvaluationLimitExceeded, TemplateFailed, listed
from coterie.dsl.model.evaluation_budget import EvaluationMeter, meter_of
from coterie.dsl.paths import MISSING
from coterie.dsl.templates.jinja_engine import Absent
from coterie.dsl.templates.jsonable import found_at, sound_text, to_json
from coterie.dsl.templates.template import Template, is_template, parse
from coterie.dsl.templates.template_rules import BadTemplate


def fill(value: JsonValue, names: Mapping[str, object]) -> JsonValue:
    """Render every template in a value; the results are not rendered again.

    Raises:
        TemplateFailed: a name has no value, or the expression cannot be evaluated.
        EvaluationLimitExceeded: all templates together need more than one evaluation may take.
    """
    return _fill_value(value, names, meter_of(names))


def _fill_value(value: JsonValue, names: Mapping[str, object], meter: EvaluationMeter) -> JsonValue:
    match value:
        case str():
            return _evaluate(value, names, meter) if is_template(value) else value
        case dict():
            return {key: _fill_value(item, names, meter) for key, item in value.items()}
        case list():
            return [_fill_value(item, names, meter) for item in value]
        case _:
            return value


def fill_text(text: str, names: Mapping[str, object]) -> str:
    """Render a prompt, always to a text; statements are allowed.

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
        raise TemplateFailed(f"{_shorten_text(text)} does not work: {error}") from None
    try:
        result = template.evaluate(names, meter)
        if template.shares and not isinstance(result, Absent):
            return cast("JsonValue", result)
        return to_json(result, meter) if template.single else sound_text(cast("str", result))
    except UndefinedError:
        raise TemplateFailed(_absent_message(template, names)) from None
    except EvaluationLimitExceeded as error:
        message = f"{_shorten_text(text)} is given up{_line(error, text)}: {error}"
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
        reason = str(error) or type(error).__name__
        where = _line(error, text)
        raise TemplateFailed(
            f"{_shorten_text(text)} cannot be evaluated{where}: {reason}"
        ) from None


def _line(error: BaseException, text: str) -> str:
    """Return the line of a longer template in which it happened."""
    if "\n" not in text:
        return ""
    line = 0
    trace = error.__traceback__
    while trace is not None:
        template: object = trace.tb_frame.f_globals.get("__jinja_template__")
        if isinstance(template, JinjaTemplate):
            line = template.get_corresponding_lineno(trace.tb_lineno)
        trace = trace.tb_next
    return f" in line {line}" if line else ""


def _shorten_text(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 80 else f"{line[:77]}..."


def _absent_message(template: Template, names: Mapping[str, object]) -> str:
    for path in template.paths:
        for length in range(1, len(path) + 1):
            if found_at(names, path[:length]) is MISSING:
                above = found_at(names, path[: length - 1])
                mapping = above if isinstance(above, dict) else dict[str, JsonValue]()
                where = ".".join(path[: length - 1]) or "here"
                return (
                    f"{_shorten_text(template.text)}: {'.'.join(path)} has no value "
                    f"({where} has: {listed(mapping)})"
                )
    return f"{_shorten_text(template.text)}: a name in it has no value"
