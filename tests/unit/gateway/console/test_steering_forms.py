"""Forms that steer a run follow its plan, and change only what a person changed."""

import pytest

from coterie.dsl.values import Json
from coterie.gateway.console.fields.filled_forms import read_form
from coterie.gateway.console.fields.form_fields import Typed
from coterie.gateway.console.forms.steering_forms import (
    SteeringFacts,
    changes_of,
    context_fields,
    skip_fields,
    tasks_of,
)
from tests.support.compiling import plan_of
from tests.unit.gateway.console.test_schema_forms import names_of, problems_of, shown_texts

TEAM = """
llm_config:
  personas:
    writer:
      provider: scripted
      model: m
      prompts: {user: hello}
      output_schema: {type: object, required: [title], properties: {title: {type: string}}}
orchestration:
  entry_team: work
  context:
    topic: {type: string, default: tides}
    limits.pages: {type: integer, default: 3}
    sources: {type: array, items: {type: string}, default: []}
    later: {type: string}
  teams:
    work:
      tasks:
        - {name: draft, agent_type: generic_single_shot, persona_key: writer}
        - {name: sign, type: approval, prompt: "Go?"}
      routing: {default: null}
"""
CONTEXT: Json = {"topic": "tides", "limits": {"pages": 3}, "sources": ["a"]}


@pytest.fixture
def run() -> SteeringFacts:
    return SteeringFacts(plan_of(TEAM), CONTEXT)


def test_only_what_a_person_changed_is_a_change_of_the_context(run: SteeringFacts) -> None:
    fields = context_fields(run, Typed({}))
    texts = shown_texts(fields)
    assert changes_of(run, read_form(fields, Typed(texts))).updates == {}
    texts |= {"limits/pages": "5", "sources": "a\r\nb"}
    changes = changes_of(run, read_form(fields, Typed(texts)))
    assert changes.updates == {"limits.pages": 5, "sources": ["a", "b"]}


def test_a_value_of_the_context_is_not_removed_in_silence(run: SteeringFacts) -> None:
    fields = context_fields(run, Typed({}))
    texts = shown_texts(fields) | {"limits/pages": ""}
    found = changes_of(run, read_form(fields, Typed(texts)))
    assert found.problem == "limits.pages cannot be removed; give it a value"
    assert found.updates == {}


def test_a_context_that_is_not_known_takes_changes_as_json(run: SteeringFacts) -> None:
    unknown = SteeringFacts(run.plan, None)
    fields = context_fields(unknown, Typed({}))
    assert names_of(fields) == {"": "json"}
    filled = read_form(fields, Typed({"": '{"limits.pages": 7}'}))
    assert changes_of(unknown, filled).updates == {"limits.pages": 7}
    assert problems_of(read_form(fields, Typed({"": "[]"}))) == {"": "is not a JSON object"}


def test_a_skipped_task_gets_data_in_the_form_that_its_step_declares(run: SteeringFacts) -> None:
    assert tasks_of(run.plan) == ("work/draft", "work/sign")
    fields = skip_fields(run, "work/draft", Typed({}))
    assert names_of(fields) == {"": "group", "title": "text"}
    assert read_form(fields, Typed({"title": "Tides"})).value == {"title": "Tides"}
    assert read_form(fields, Typed({})).value is None
    declared = names_of(skip_fields(run, "work/sign", Typed({})))
    assert {"decision", "by"} <= set(declared)
    assert names_of(skip_fields(run, "work/nothing", Typed({}))) == {"": "json"}
