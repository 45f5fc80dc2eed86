"""Which writes the declarations of a context allow: by their path, their operation, their value."""

import pytest

from coterie.dsl.checks.steps.context_paths import stranger
from coterie.dsl.model.context.declarations import DeclaredPath
from tests.support.compiling import problems_of

DOCUMENT = """
orchestration:
  entry_team: one
  context:
    text: { type: string, default: "" }
    count: { type: [integer, 'null'], default: 0 }
    list: { type: array, default: [] }
    map: { type: object, default: {} }
    maybe: { type: [object, 'null'], default: null }
    free: { default: null }
    deep.one: { type: string, default: "" }
    deep.two: { type: integer, default: 0 }
    closed: { type: object, properties: { a: {} }, additionalProperties: false, default: {} }
  teams:
    one:
      tasks:
        - { name: write, type: set, values: { x: 1 }, context_updates: { UPDATE } }
        - { name: call, team: two, input: { INPUT } }
        - name: read
          type: set
          values: { v: "{{ [context.text, context.count, context.list, context.map] }}" }
        - name: rest
          type: set
          values: { v: "{{ [context.maybe, context.free, context.deep, context.closed] }}" }
    two: { tasks: [{ name: note, type: set, values: { y: 1 } }] }
"""


def found(update: str = "", given: str = "") -> list[str]:
    text = DOCUMENT.replace("UPDATE", update).replace("INPUT", given)
    return [one.code for one in problems_of(text) if one.severity == "error"]


@pytest.mark.parametrize(
    ("update", "codes"),
    [
        ("text: abc", []),
        ("text: 1", ["E405"]),
        ("text: '{{ 1 }}'", []),
        ("textt: abc", ["E215"]),
        ("deep: { one: x }", ["E215"]),
        ("deep.one: x", []),
        ("deep.three: x", ["E215"]),
        ("map.a.b: 1", []),
        ("closed.a: 1", []),
        ("closed.b: 1", ["E210"]),
        ("free.a: 1", []),
        # of a path with templates, what stands before the first one counts
        ("'map.{{ 1 }}': 1", []),
        ("'deep.{{ 1 }}': 1", []),
        ("'dep.{{ 1 }}': 1", ["E215"]),
        ("'text.{{ 1 }}': 1", []),
        ("'{{ 1 }}': 1", []),
        # an operation fits the type of its path
        ("list: { append: 1 }", []),
        ("list: { remove: 1 }", []),
        ("map: { remove: a }", []),
        ("map: { merge: { a: 1 } }", []),
        ("maybe: { merge: { a: 1 } }", []),
        ("count: { increment: 1 }", []),
        ("free: { increment: 1 }", []),
        ("text: { append: 1 }", ["E405"]),
        ("list: { increment: 1 }", ["E405"]),
        ("map: { append: 1 }", ["E405"]),
        ("count: { remove: 1 }", ["E405"]),
        ("deep.two: { increment: 1 }", []),
        ("map.n: { increment: 1 }", []),
        ("lists: { append: 1 }", ["E215"]),
        # one unknown key is a value where mappings may be, and else a misspelt operation
        ("map: { appendd: 1 }", []),
        ("maybe: { appendd: 1 }", []),
        ("free: { some_key: 1 }", []),
        ("list: { appendd: 1 }", ["E405"]),
        ("list: { a: 1, b: 2 }", ["E405"]),
        ("text: {}", ["E405"]),
        # two operations at once
        ("map: { append: 1, remove: 2 }", ["E107"]),
        ("map: { append: 1, other: 2 }", []),
    ],
)
def test_an_update_writes_what_its_path_can_hold(update: str, codes: list[str]) -> None:
    assert found(update) == codes


@pytest.mark.parametrize(
    ("given", "codes"),
    [
        ("text: abc", []),
        ("text: 1", ["E405"]),
        ("textt: abc", ["E215"]),
        ("deep: { one: x, two: 2 }", []),
        ("deep: { one: 1 }", ["E405"]),
        ("deep: { three: x }", ["E215"]),
        ("deep: '{{ context.free }}'", []),
        ("deep: 1", ["E215"]),
        ("map: { a: { b: 1 } }", []),
    ],
)
def test_the_input_of_a_team_is_what_the_context_declares(given: str, codes: list[str]) -> None:
    assert found(given=given) == codes


@pytest.mark.parametrize(
    ("path", "strange"),
    [
        (("a",), None),
        (("a", "x"), None),
        (("b",), None),
        (("b", "c"), None),
        (("b", "d"), "b.d"),
        (("b", "d", "e"), "b.d"),
        (("c",), "c"),
        (("c", "d"), "c"),
    ],
)
def test_the_shortest_part_that_nothing_declares_is_named(
    path: tuple[str, ...], strange: str | None
) -> None:
    declared = {"a": DeclaredPath(default={}), "b.c": DeclaredPath(default=1)}
    assert stranger(path, declared) == strange
