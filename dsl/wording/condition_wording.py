"""Problems of conditions and templates: names, fields, operators, values."""

from collections.abc import Collection, Sequence

from pydantic import JsonValue

from coterie.dsl.errors import asked_back, listed, nearest, replaced_by_nearest
from coterie.dsl.problem_details import ProblemText, rule
from coterie.dsl.values import UNREADABLE

_OUTCOMES = ("all_success", "any_success", "any_failure", "all_failure")


@rule("E301")
def broken_template(reason: str, name: str = "", known: Collection[str] = ()) -> ProblemText:
    return _broken_template(reason, name, known)


@rule("E302")
def forbidden_template(reason: str, name: str = "", known: Collection[str] = ()) -> ProblemText:
    return _broken_template(reason, name, known)


def _broken_template(reason: str, name: str, known: Collection[str]) -> ProblemText:
    fix = nearest(name, known)
    allowed = listed(known) if known and not fix else ""
    return ProblemText(f"the template does not work: {reason}", allowed, fix)


@rule("E109")
def not_a_condition(text: str) -> ProblemText:
    return ProblemText(
        f"{text!r} is not a condition",
        f"{', '.join(_OUTCOMES)}, or {{{{ ... }}}}",
        nearest(text, _OUTCOMES),
        edit=replaced_by_nearest(text, _OUTCOMES),
    )


@rule("E109")
def text_around_condition(text: str) -> ProblemText:
    return ProblemText(
        f"the text {text!r} is not a condition: it always holds",
        "one expression: {{ ... }} around all of it",
        "write the comparison inside the braces",
    )


@rule("E210")
def unknown_field(
    owner: Sequence[str], path: Sequence[str], segment: str, known: Collection[str]
) -> ProblemText:
    return ProblemText(
        f"{_data(owner)} never has {'.'.join(path)}: its schema has no {segment!r} there",
        listed(known),
        nearest(segment, known),
    )


@rule("E102")
def value_missing(operator: str, without_value: Collection[str]) -> ProblemText:
    return ProblemText(
        f"the key 'value' is missing: the operator {operator!r} compares with nothing",
        fix="add `value:`, or an operator that needs none: " + listed(without_value),
    )


@rule("E402")
def template_as_value(value: str) -> ProblemText:
    return ProblemText(
        f"the value {value!r} looks like a template, but is compared as a literal text",
        fix='write the condition as one expression: `condition: "{{ context.a == context.b }}"`',
    )


@rule("E402")
def value_of_operator(operator: str, wanted: str, value: JsonValue) -> ProblemText:
    return ProblemText(f"the operator {operator!r} {wanted}, not {value!r}")


@rule("E403")
def broken_pattern(text: str, reason: str) -> ProblemText:
    return ProblemText(
        f"the regular expression {text!r} does not compile: {reason}",
        fix="use RE2 syntax: no look-around, no back references",
    )


@rule("E207")
def unknown_template_name(
    path: Sequence[str], reason: str, segment: str, known: Collection[str]
) -> ProblemText:
    readable = [name for name in known if name != UNREADABLE]
    return ProblemText(
        f"the template names {'.'.join(path)}, and {reason}",
        listed(readable),
        nearest(segment, readable),
    )


KINDS = {
    "string": "a text",
    "number": "a number",
    "integer": "a whole number",
    "boolean": "true or false",
    "array": "a list",
    "object": "a mapping",
    "null": "null",
}
"""`{type of JSON Schema: how a sentence calls it}`."""


@rule("E404")
def decided_condition(
    what: str,
    data: str,
    operator: str,
    value: str,
    *,
    allowed: Sequence[str],
    meant: str | None,
    unquoted: str | None,
    always: bool,
) -> ProblemText:
    fix = asked_back(meant) if unquoted is None else f"write {unquoted} without quotes"
    return ProblemText(
        f"the condition {'always' if always else 'never'} holds: {what} is "
        f"{data}, and {operator!r} compares with {value}",
        ", ".join(allowed),
        fix,
    )


def one_of(values: Sequence[str]) -> str:
    return ("one of " if len(values) > 1 else "") + ", ".join(values)


def bounded(types: Sequence[str], bounds: Sequence[tuple[str, str]]) -> str:
    kinds = " or ".join(KINDS[name] for name in types)
    limits = ", ".join(f"{key} {value}" for key, value in bounds)
    return f"{kinds} ({limits})" if limits else kinds


def _data(owner: Sequence[str]) -> str:
    """Name what a path of the facts leads to."""
    match owner:
        case ("tasks", task, "data"):
            return f"the data of task {task!r}"
        case ("teams", team, "tasks", task, "data"):
            return f"the data of task '{team}/{task}'"
        case ("context", path):
            return context_path(path)
        case _:
            return f"the variable {owner[0]!r}"


def field_of_task(field: str, task: str) -> str:
    return f"{field} of task {task!r}"


def context_path(path: str) -> str:
    return f"the context path {path!r}"
