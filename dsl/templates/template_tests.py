"""The tests of templates, as in `x is even`: a closed list, like the filters."""

from typing import Any, Final, cast

from jinja2.tests import TESTS
from jinja2.utils import pass_context

from coterie.dsl.templates import filter_costs as costs
from coterie.dsl.templates import value_costs as values
from coterie.dsl.templates.operand_words import refused
from coterie.dsl.templates.shown_values import MeteredContext
from coterie.dsl.templates.template_filters import Run, metered

_COMPARING: Final = {
    "==": "eq",
    "eq": "eq",
    "equalto": "eq",
    "!=": "ne",
    "ne": "ne",
    ">": "gt",
    "gt": "gt",
    "greaterthan": "gt",
    ">=": "gteq",
    "ge": "gteq",
    "<": "lt",
    "lt": "lt",
    "lessthan": "lt",
    "<=": "lteq",
    "le": "lteq",
    "in": "in",
}
_COMPUTING: Final = ("divisibleby", "even", "odd")
_LOOKING_AT_TEXT: Final = ("lower", "upper")
_CONSTANT: Final = (
    "boolean",
    "callable",
    "defined",
    "escaped",
    "false",
    "filter",
    "float",
    "integer",
    "iterable",
    "mapping",
    "none",
    "number",
    "sequence",
    "string",
    "test",
    "true",
    "undefined",
)


def _comparing(name: str) -> Run:
    @pass_context
    def test(context: MeteredContext, value: object, other: object) -> object:
        return values.compare(context.meter, name, value, other)

    return test


def _computing(name: str) -> Run:
    run = cast("Run", TESTS[name])

    def test(value: object, *args: object) -> object:
        try:
            return run(value, *args)
        except (TypeError, ZeroDivisionError) as error:
            raise refused(error, name, value, *args) from None

    return test


def tests() -> dict[str, Any]:
    """Return every test of the language by its name."""
    table: dict[str, Any] = {name: TESTS[name] for name in _CONSTANT}
    table |= {name: _computing(name) for name in _COMPUTING}
    table |= {name: _comparing(how) for name, how in _COMPARING.items()}
    return table | {name: metered(name, TESTS[name], costs.scan(0)) for name in _LOOKING_AT_TEXT}
