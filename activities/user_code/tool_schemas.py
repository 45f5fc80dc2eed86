"""Derive the contract of a tool from its function: a model of its arguments, and its result.

Only processes that run the user's code import this: a child of a worker, or a program that runs
its own agents.
"""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import Any, NamedTuple, get_type_hints

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    JsonValue,
    TypeAdapter,
    ValidationError,
    create_model,
)

from coterie.activities.processes.child_loop import reason_for
from coterie.activities.user_code.plain_values import NotJson, as_json, check_finite_parts
from coterie.activities.user_code.python_tools import ToolContext, ToolTerms
from coterie.activities.user_code.tool_term_checks import terms_problem
from coterie.dsl.model.tools.local_activities import local_reasons

_VARIADIC = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


class UnfitFunction(Exception):
    """A function cannot be a tool; the message says why, and what to write."""


class MismatchedValue(Exception):
    """Arguments or a result do not match the types of a function; the message says where."""


class TypedFunction(NamedTuple):
    """A function with the types of its arguments and its result."""

    call: Callable[..., Any]
    arguments: type[BaseModel]
    result: TypeAdapter[Any]
    context: str | None
    """The parameter that takes the ToolContext."""


def typed(function: Callable[..., Any]) -> TypedFunction:
    """Read the signature of a function.

    Raises:
        UnfitFunction: A parameter has no type, is positional only or variadic, its annotations
            cannot be read, or a type is unknown to pydantic.
    """
    try:
        hints = get_type_hints(function, include_extras=True)
    except NameError as error:
        raise UnfitFunction(f"names a type that its module does not have: {error}") from None
    except Exception as error:  # evaluating an annotation may do anything
        raise UnfitFunction(f"has annotations that cannot be read: {reason_for(error)}") from None
    fields: dict[str, Any] = {}
    context: str | None = None
    for name, parameter in inspect.signature(function).parameters.items():
        if parameter.kind in _VARIADIC or parameter.kind is parameter.POSITIONAL_ONLY:
            raise UnfitFunction(
                f"has the parameter {name!r}, which a call cannot give by its name; write plain "
                "parameters"
            )
        if name not in hints:
            raise UnfitFunction(f"has the parameter {name!r} without a type; add one")
        if hints[name] is ToolContext:
            context = name
            continue
        default = ... if parameter.default is parameter.empty else parameter.default
        fields[f"field_{len(fields)}"] = (hints[name], Field(default=default, alias=name))
    try:
        arguments = create_model(function.__name__, __config__=ConfigDict(extra="forbid"), **fields)
        result: TypeAdapter[Any] = TypeAdapter(hints.get("return", Any))
        arguments.model_json_schema()
        result.json_schema(mode="serialization")
    except Exception as error:  # pydantic refuses types by several exceptions
        first = str(error).strip().splitlines()[0]
        raise UnfitFunction(f"has a type that cannot be JSON: {first}") from None
    return TypedFunction(function, arguments, result, context)


def bound_arguments(function: TypedFunction, arguments: object) -> dict[str, Any]:
    """Convert the arguments of a call to the types of the parameters, without the context.

    Raises:
        MismatchedValue: They do not match.
    """
    try:
        checked = function.arguments.model_validate(arguments)
    except ValidationError as error:
        raise MismatchedValue(_mismatches(error)) from None
    fields = type(checked).model_fields.items()
    return {field.alias or name: getattr(checked, name) for name, field in fields}


def plain_result(function: TypedFunction, result: object) -> JsonValue:
    """Convert the result of a call to JSON.

    Raises:
        MismatchedValue: It is not what the function declares, or not JSON.
    """
    try:
        checked = function.result.validate_python(result)
        # Pydantic writes null for NaN and infinity.
        check_finite_parts(function.result.dump_python(checked, by_alias=True), "the result")
        plain = function.result.dump_python(checked, mode="json", by_alias=True)
        return as_json(plain, "the result")
    except ValidationError as error:
        raise MismatchedValue(_mismatches(error)) from None
    except NotJson as error:
        raise MismatchedValue(str(error)) from None


def _mismatches(error: ValidationError) -> str:
    """List the first problems of a value with their places, without the value."""
    mismatches = [
        f"{'.'.join(map(str, problem['loc']))}: {problem['msg']}"
        if problem["loc"]
        else problem["msg"]
        for problem in error.errors(include_url=False, include_input=False, include_context=False)
    ]
    return "; ".join(mismatches[:5])


def contract(name: str, function: TypedFunction, terms: ToolTerms) -> dict[str, object]:
    """Return the contract of a tool as data.

    Raises:
        UnfitFunction: Its terms are invalid, or it cannot be a local activity.
    """
    problem = terms_problem(terms)
    if problem is not None:
        raise UnfitFunction(problem)
    _check_local(terms)
    return {
        **asdict(terms),
        "name": name,
        "description": terms.description or _first_paragraph(function.call),
        "takes_context": function.context is not None,
        "input_schema": _without_titles(function.arguments.model_json_schema()),
        "output_schema": function.result.json_schema(mode="serialization"),
    }


def _check_local(terms: ToolTerms) -> None:
    if not terms.local_activity:
        return
    reasons = local_reasons(terms.effect, terms.timeout, terms.retries, asks=False)
    if reasons:
        raise UnfitFunction(
            f"cannot be a local activity: {', '.join(reasons)}; write `effect='read', "
            "timeout=2, retries=0`, or leave `local_activity` out"
        )


def _first_paragraph(function: Callable[..., Any]) -> str:
    return " ".join((inspect.getdoc(function) or "").partition("\n\n")[0].split())


def _without_titles(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Drop the generated titles of the arguments, which tell a model nothing."""
    properties = schema.get("properties", {})
    plain = {
        name: {key: value for key, value in subschema.items() if key != "title"}
        for name, subschema in properties.items()
    }
    rest = {key: value for key, value in schema.items() if key not in ("title", "description")}
    return {**rest, "properties": plain}
