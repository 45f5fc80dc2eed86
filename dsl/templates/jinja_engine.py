"""Jinja2 in a sandbox: what a template can reach, and what that costs.

No randomness, no clock, no method that is not listed; data wins over Python. Every operation
charges the meter of its evaluation before it works (`evaluation_budget`, `text_costs`,
`value_costs`), so that no template can use up a worker's time or memory.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from typing import Any, Final, cast

from jinja2.exceptions import SecurityError
from jinja2.runtime import Context, LoopContext, Macro
from jinja2.sandbox import SandboxedEnvironment
from jinja2.utils import pass_context

from coterie.dsl.model.evaluation_budget import text_bytes
from coterie.dsl.model.facts import OUTCOME_NAMES
from coterie.dsl.model.outcomes import Failure, Outcome
from coterie.dsl.templates import value_costs as values
from coterie.dsl.templates.operand_words import OperandError, kind_of, refused, refused_call
from coterie.dsl.templates.shown_values import Absent, MeteredContext, shown
from coterie.dsl.templates.template_filters import filters, format_text, text_methods
from coterie.dsl.templates.template_tests import tests

__all__ = [
    "ENVIRONMENT",
    "MAPPING_METHODS",
    "TEXT_METHODS",
    "Absent",
    "MeteredContext",
    "shown",
]

MAPPING_METHODS = frozenset({"items", "keys", "values", "get"})
_TEXT_METHODS = text_methods()
TEXT_METHODS = frozenset(_TEXT_METHODS)

CHARGE: Final = " charge"
COMPARE: Final = " compare"
EACH: Final = " each"
SLICE: Final = " slice"
KEY: Final = " key"
"""Filters that only a rewritten template has: a name in a template cannot have a space."""

_LOOP_FIELDS = frozenset(
    {
        "index",
        "index0",
        "revindex",
        "revindex0",
        "first",
        "last",
        "length",
        "depth",
        "depth0",
        "previtem",
        "nextitem",
        "cycle",
        "changed",
    }
)
_OUTCOME_FIELDS = frozenset(OUTCOME_NAMES)
_FAILURE_FIELDS = frozenset(field.name for field in fields(Failure))


@dataclass(frozen=True, slots=True)
class _Method:
    """A method of a text or a mapping that has not been called yet."""

    owner: object
    name: str


@pass_context
def _charge(context: MeteredContext, steps: int) -> bool:
    context.meter.charge(max(0, steps))
    return True


@pass_context
def _compare(context: MeteredContext, left: object, *operations: object) -> object:
    result: object = True
    for name, right in zip(operations[::2], operations[1::2], strict=True):
        result = values.compare(context.meter, cast("str", name), left, right)
        if not result:
            return result
        left = right
    return result


@pass_context
def _each(context: MeteredContext, value: object) -> object:
    values.charge_items(context.meter, value)
    return value


@pass_context
def _slice(context: MeteredContext, value: Any, start: Any, stop: Any, step: Any) -> object:
    if isinstance(value, str):
        context.meter.charge(len(value) >> 9, text_bytes(value))
    else:
        values.charge_items(context.meter, value)
    try:
        return value[start:stop:step]
    except TypeError:
        raise OperandError("a slice takes a text or a list, and whole numbers") from None


@pass_context
def _key(context: MeteredContext, value: object) -> object:
    context.meter.walk(value)  # a tuple hashes all its parts
    if isinstance(value, list | dict):
        raise OperandError(f"a key of a mapping is a text, not {kind_of(cast('object', value))}")
    return value


@pass_context
def _output_value(context: MeteredContext, value: object) -> object:
    """Return what an output writes, and charge for it."""
    meter = context.meter
    text = shown(value, meter)
    if type(text) is str:
        meter.charge(len(text) >> 9, text_bytes(text))
    return text


def _call_method(
    context: MeteredContext, method: _Method, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> object:
    owner, name = method.owner, method.name
    if isinstance(owner, str):
        return _TEXT_METHODS[name](context, owner, *args, **kwargs)
    mapping = cast("Mapping[object, object]", owner)
    if name == "get":
        context.meter.walk(args[:1])
        return mapping.get(*args, **kwargs)
    values.charge_items(context.meter, mapping, 2)
    items = getattr(mapping, name)(*args, **kwargs)
    return list(cast("Iterable[object]", items))


class _Environment(SandboxedEnvironment):
    intercepted_binops = frozenset({"+", "-", "*", "/", "//", "%", "**"})
    intercepted_unops = frozenset({"+", "-"})
    context_class = MeteredContext

    def __init__(self) -> None:
        super().__init__(
            undefined=Absent, finalize=_output_value, keep_trailing_newline=True, optimized=False
        )
        self.globals = {"range": self.globals["range"]}
        self.filters = filters() | {
            CHARGE: _charge,
            COMPARE: _compare,
            EACH: _each,
            SLICE: _slice,
            KEY: _key,
        }
        self.tests = tests()

    def call_filter(self, name: str, *args: Any, **kwargs: Any) -> Any:
        """Call a filter by its name, as `map` does."""
        if name in (CHARGE, COMPARE, EACH, SLICE, KEY):
            raise SecurityError(f"there is no filter {name!r}")
        return super().call_filter(name, *args, **kwargs)

    def getattr(self, obj: Any, attribute: str) -> Any:
        match obj:
            case Mapping():
                mapping = cast("Mapping[str, object]", obj)
                if attribute in mapping:
                    return mapping[attribute]
                allowed = MAPPING_METHODS
            case Outcome():
                allowed = _OUTCOME_FIELDS
            case Failure():
                allowed = _FAILURE_FIELDS
            case str():
                allowed = TEXT_METHODS
            case Absent():
                return obj
            case LoopContext():
                allowed = _LOOP_FIELDS
            case _:
                allowed = frozenset[str]()
        if attribute not in allowed:
            return self.undefined(name=attribute)
        if allowed is MAPPING_METHODS or allowed is TEXT_METHODS:
            return _Method(cast("object", obj), attribute)
        return getattr(cast("object", obj), attribute)

    def getitem(self, obj: Any, argument: Any) -> Any:
        if isinstance(argument, str):
            return self.getattr(obj, argument)
        if isinstance(argument, tuple):  # hashes all its parts
            return self.undefined(name="a tuple")
        return super().getitem(obj, argument)

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:
        meter = cast("MeteredContext", context).meter
        match operator:
            case "**":
                raise SecurityError("`**` is not part of the language")
            case "%" if isinstance(left, str):
                try:
                    return format_text(meter, left, right)
                except (TypeError, ZeroDivisionError) as error:
                    raise refused(error, "%", left, right) from None
            case "*":
                values.charge_repeated(meter, left, right)
                values.charge_repeated(meter, right, left)
            case "+":
                values.charge_joined(meter, left, right)
            case _:
                pass
        values.charge_arithmetic(meter, operator, left, right)
        try:
            return super().call_binop(context, operator, left, right)
        except (TypeError, ZeroDivisionError) as error:
            raise refused(error, operator, left, right) from None

    def call_unop(self, context: Context, operator: str, arg: Any) -> Any:
        try:
            return super().call_unop(context, operator, arg)
        except (TypeError, ZeroDivisionError) as error:
            raise refused(error, operator, arg) from None

    def call(self, context: Context, obj: Any, *args: Any, **kwargs: Any) -> Any:
        """Call a callable of the language: its methods, `range`, macros and loops."""
        metered = cast("MeteredContext", context)
        meter = metered.meter
        meter.charge(2)
        match obj:
            case _Method():
                try:
                    return _call_method(metered, obj, args, kwargs)
                except (TypeError, AttributeError) as error:
                    arguments = (*args, *kwargs.values())
                    raise refused_call(error, obj.name, obj.owner, *arguments) from None
            case LoopContext():
                for arg in args:
                    values.charge_items(meter, arg)
            case _ if obj is self.globals["range"]:
                try:
                    return super().call(context, obj, *args, **kwargs)
                except (TypeError, ZeroDivisionError) as error:
                    raise refused(error, "range", *args) from None
            case Macro() | Absent():
                pass
            case _ if isinstance(getattr(obj, "__self__", None), LoopContext):
                meter.charge(10 + meter.walk(args))
            case _:
                raise SecurityError(
                    "not callable: only listed methods, `range`, macros and loops are"
                )
        return super().call(context, obj, *args, **kwargs)


ENVIRONMENT: Final = _Environment()
