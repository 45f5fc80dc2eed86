"""Operations of `context_updates` that are misspelled, and values that only look like one."""

import pytest
from pydantic import JsonValue

from coterie.dsl.checks.steps.context_update_checks import misspelt_operation
from tests.support.compiling import problems_of
from tests.support.one_team import document


@pytest.mark.parametrize(
    ("value", "meant"),
    [
        ({"apend": 1}, "append"),
        ({"appned": "{{ data }}"}, "append"),
        ({"Append": [1]}, "append"),
        ({"xtend": [1]}, "extend"),
        ({"incremennt": 2}, "increment"),
        ({"increment_": "{{ n }}"}, None),
        ({"mrege": {"a": 1}}, "merge"),
        ({"remov": "x"}, "remove"),
        ({"appen": 1}, "append"),
        ({"appe": 1}, None),
        ({"appned": 1}, "append"),
        ({"axxend": 1}, None),
        ({"papxnd": 1}, None),
        ({"removed": True}, None),
        ({"merged": {"a": 1}}, None),
        ({"extent": [1]}, None),
        ({"remote": True}, None),
        ({"mergee": 3}, None),  # no operation takes a number
        ({"mrege": 3}, None),
        ({"append": 1}, None),
        ({"apend": 1, "b": 2}, None),
        ({"add": 1}, None),
        ({"a": 1}, None),
        ({}, None),
        (["apend"], None),
        ("apend", None),
    ],
)
def test_only_a_clear_slip_is_taken_for_an_operation(value: JsonValue, meant: str | None) -> None:
    found = misspelt_operation(value)
    assert (None if found is None else found[1]) == meant


@pytest.mark.parametrize(
    ("context", "code"),
    [
        ("", "E107"),
        ("context: {log: {type: array, default: []}}", "E405"),
        ("context: {log: {type: object, default: {}}}", "E107"),
    ],
)
def test_a_misspelt_operation_is_one_problem_at_its_key_whether_the_path_is_declared_or_not(
    context: str, code: str
) -> None:
    text = document(
        '- {name: note, type: set, values: {n: "{{ context.log }}"},\n'
        "   context_updates: {log: {apend: 1}}}"
    ).replace("\n  teams:", f"\n  {context}\n  teams:", 1)
    (problem,) = problems_of(text)
    assert problem.code == code
    line = text.splitlines()[problem.line - 1]
    assert line[problem.column - 1 :].startswith("apend")
    assert "did you mean 'append'?" in problem.fix
