"""What conditions and templates read, where, and whether they need it to be there."""

import pytest
from pydantic import JsonValue, TypeAdapter

from coterie.dsl.analysis.template_reads import Read, condition_reads, update_reads, value_reads
from coterie.dsl.model.conditions import Condition
from coterie.dsl.values import Json

CONDITION: TypeAdapter[Condition] = TypeAdapter(Condition)
FIELD: Json = {"context_field": "a.b", "operator": "equals", "value": 1}
OTHER: Json = {"context_field": "c", "operator": "equals", "value": 1}
EXISTS: Json = {"context_field": "a", "operator": "exists"}
UNEQUAL: Json = {"context_field": "c", "operator": "not_equals", "value": 1}
OUTPUT: Json = {"task": "t", "output_field": "f.g", "operator": "equals", "value": 1}
STATUS: Json = {"task": "t", "status": "success"}


def reads(condition: Json) -> list[Read]:
    return list(condition_reads(CONDITION.validate_python(condition), ("when",)))


def asked(path: str, *place: str | int, needed: bool = True) -> Read:
    return Read(tuple(path.split(".")), ("when", *place), needed, fails=False, asks=True)


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        (FIELD, [asked("context.a.b", "context_field")]),
        (EXISTS, [asked("context.a", "context_field", needed=False)]),
        (UNEQUAL, [asked("context.c", "context_field", needed=False)]),
        ({"not": UNEQUAL}, [asked("context.c", "not", "context_field")]),
        ({"not": OTHER}, [asked("context.c", "not", "context_field", needed=False)]),
        ({"not": {"not": OTHER}}, [asked("context.c", "not", "not", "context_field")]),
        (OUTPUT, [asked("tasks.t.data.f.g", "task")]),
        (STATUS, [asked("tasks.t.status", "task")]),
        ({"not": STATUS}, [asked("tasks.t.status", "not", "task", needed=False)]),
        (
            {"and": [FIELD, OTHER]},
            [
                asked("context.a.b", "and", 0, "context_field"),
                asked("context.c", "and", 1, "context_field"),
            ],
        ),
        (
            {"or": [FIELD, OTHER]},
            [
                asked("context.a.b", "or", 0, "context_field"),
                asked("context.c", "or", 1, "context_field"),
            ],
        ),
        # the absence of what it tests for, or of what is around it, decides it just as well
        (
            {"and": [EXISTS, FIELD, OTHER]},
            [
                asked("context.a", "and", 0, "context_field", needed=False),
                asked("context.a.b", "and", 1, "context_field", needed=False),
                asked("context.c", "and", 2, "context_field"),
            ],
        ),
        (
            {"expression": "{{ context.a.b }}"},
            [Read(("context", "a", "b"), ("when", "expression"), True, fails=True, asks=True)],
        ),
        (
            {"expression": "{{ context.a | default(1) }}"},
            [Read(("context", "a"), ("when", "expression"), False, fails=True, asks=True)],
        ),
    ],
)
def test_a_condition_needs_what_decides_it_only_by_being_there(
    condition: Json, expected: list[Read]
) -> None:
    assert reads(condition) == expected


@pytest.mark.parametrize(
    ("text", "needed"),
    [
        ("{{ context.a }}", {"context.a": True}),
        ("{{ context.a | default(context.b) }}", {"context.a": False, "context.b": False}),
        ("{{ context.a | d(1) }}", {"context.a": False}),
        ("{{ context.a is defined }}", {"context.a": False}),
        ("{{ context.a is undefined }}", {"context.a": False}),
        ("{{ context.b if context.a else 1 }}", {"context.a": True, "context.b": False}),
        ("{{ context.a and context.b }}", {"context.a": True, "context.b": False}),
        ("{{ context.a or context.b }}", {"context.a": True, "context.b": False}),
        ("{{ context.a.b | default(1) ~ context.a.b.c }}", {"context.a.b": False}),
        ("{{ context.a | upper if true else 1 }}", {"context.a": False}),
        ("{{ (context.a or 1) ~ context.a }}", {"context.a": True}),
        (
            "{{ context.a.upper() ~ (context.b | default(1)) }}",
            {"context.a": True, "context.b": False},
        ),
        (
            "{% for one in context.a %}{{ context.b }}{% endfor %}",
            {"context.a": True, "context.b": False},
        ),
        (
            "{% if context.a %}{{ context.b }}{% else %}{{ context.c }}{% endif %}",
            {"context.a": True, "context.b": False, "context.c": False},
        ),
    ],
)
def test_a_template_needs_what_it_always_reads_without_care(
    text: str, needed: dict[str, bool]
) -> None:
    every = value_reads(text, ("values", "n"))
    found = {".".join(one.path): one.needed for one in every}
    assert {path: found[path] for path in needed} == needed


def test_every_template_of_a_value_is_read_where_it_is_written() -> None:
    value: JsonValue = {"a": ["x", "{{ context.b }}"], "c": "{{ context.d }}", "e": 1}
    assert list(value_reads(value, ("values",))) == [
        Read(("context", "b"), ("values", "a", 1), True),
        Read(("context", "d"), ("values", "c"), True),
    ]


def test_an_update_reads_the_templates_of_its_key_and_of_its_value() -> None:
    updates: Json = {"a.{{ context.b }}": "{{ context.c }}", "d": 1}
    key = ("context_updates", "a.{{ context.b }}")
    assert list(update_reads(updates, ("context_updates",))) == [
        Read(("context", "b"), key, True),
        Read(("context", "c"), key, True),
    ]
