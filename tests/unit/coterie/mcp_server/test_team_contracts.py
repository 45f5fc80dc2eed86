"""The tool of a team has the declared context as its arguments, and the declared output."""

import pytest
from jsonschema import validate
from jsonschema.exceptions import ValidationError
from pydantic import JsonValue

from coterie.dsl.analysis.findings import with_needs
from coterie.dsl.errors import InvalidContext
from coterie.dsl.evaluate.declared_values import started
from coterie.dsl.values import Json
from coterie.mcp_server.served_teams import arguments_schema, result_schema
from tests.support.compiling import compiled

DECLARED = """
orchestration:
  entry_team: only
  context:
    topic: {type: string, minLength: 2}
    budget.pages: {type: integer, default: 3}
    budget.money: {type: number}
    tree:
      $ref: "#/$defs/node"
      $defs: {node: {type: array, items: {$ref: "#/$defs/node"}}}
      default: []
  output: {report: {text: "{{ context.topic }}"}, pages: 3}
  teams:
    only:
      tasks:
        - {name: note, type: set, values: {said: "{{ context.topic }} {{ context.budget.pages }}"}}
"""

FREE = """
orchestration:
  entry_team: only
  teams:
    only: {tasks: [{name: note, type: set, values: {said: "{{ context.request.topic }}"}}]}
"""


CONTEXTS: list[tuple[Json, bool]] = [
    ({"topic": "rain", "budget": {"money": 1.5}}, True),
    ({"topic": "rain", "budget": {"money": 1, "pages": 2}, "tree": [[], [[]]]}, True),
    ({"topic": "rain", "budget": {"money": 1}, "tree": [[1]]}, False),
    ({"topic": "r", "budget": {"money": 1}}, False),
    ({"topic": "rain"}, False),
    ({"topic": "rain", "budget": {"money": 1}, "more": 1}, False),
    ({"topic": "rain", "budget": {"money": 1, "more": 1}}, False),
    ({"topic": "rain", "budget": 1}, False),
]


@pytest.mark.parametrize(("context", "fits"), CONTEXTS)
def test_the_arguments_accept_what_a_start_accepts(context: Json, fits: bool) -> None:
    plan = compiled(DECLARED).plan
    schema = arguments_schema(plan)
    if fits:
        validate(context, schema)
        assert started(context, plan.context)
        return
    with pytest.raises(ValidationError):
        validate(context, schema)
    with pytest.raises(InvalidContext):
        started(context, plan.context)


def test_a_default_is_in_the_schema() -> None:
    budget: JsonValue = arguments_schema(compiled(DECLARED).plan)["properties"]
    assert isinstance(budget, dict)
    assert budget["budget"] == {
        "type": "object",
        "properties": {"pages": {"type": "integer", "default": 3}, "money": {"type": "number"}},
        "additionalProperties": False,
        "required": ["money"],
    }


def test_without_declarations_the_arguments_are_what_steps_need() -> None:
    assert arguments_schema(with_needs(compiled(FREE)).plan) == {
        "type": "object",
        "properties": {
            "request": {"type": "object", "properties": {"topic": {}}, "required": ["topic"]}
        },
        "required": ["request"],
    }


def test_the_result_has_the_keys_of_the_declared_output() -> None:
    text: Json = {"type": "object", "properties": {"text": {}}}
    assert result_schema(compiled(DECLARED).plan) == {
        "type": "object",
        "properties": {"report": text, "pages": {}},
    }
    assert result_schema(compiled(FREE).plan) == {}
