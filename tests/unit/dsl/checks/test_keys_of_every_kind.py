"""Each key that every kind of step has is refused, or warned of, where it has no effect."""

import json
import re

import pytest
import yaml
from jsonschema.validators import validator_for

from coterie.dsl.model.step_kinds.step_base import StepBase
from coterie.dsl.model.steps import STEP_KINDS
from tests.law.sources import ROOT
from tests.support.compiling import problems_of

REFERENCE = (ROOT / "docs/steps.md").read_text()
_WAIT = "{name: rest, type: wait, duration: 1}"

KINDS = {
    "agent": "agent_type: generic_single_shot, persona_key: writer",
    "skill": 'skill: Files.read, input: {path: "a.txt"}',
    "tool": "type: tool, tool: find, arguments: {query: a}",
    "loop": f"type: loop, iterate_on: [1], loop_variable: item, body: [{_WAIT}]",
    "branch": f"type: branch, branches: [{{condition: all_success, steps: [{_WAIT}]}}]",
    "parallel": f"type: parallel, branches: {{a: [{_WAIT}]}}",
    "task_graph": f"type: task_graph, tasks: [{{id: a}}], task_variable: task, body: [{_WAIT}]",
    "set": "type: set, values: {noted: 1}",
    "approval": 'type: approval, prompt: "Well?", deadline: 1d',
    "wait": "type: wait, signal: go",
    "reply": "type: reply, value: 1",
    "team": "type: team, team: other",
    "try": f"type: try, steps: [{_WAIT}], finally: [{_WAIT.replace('rest', 'tidy')}]",
    "block": f"type: block, steps: [{_WAIT}]",
    "return": "type: return, value: 1",
    "fail": 'type: fail, message: "No."',
}
"""`{kind: what a step of this kind needs}`."""

KEYS = {
    "description": "For people.",
    "when": "all_success",
    "fail_when": '"{{ seconds > 9 }}"',
    "output_variable": "kept",
    "on_failure": "continue",
    "timeout": "5s",
    "retry": "{retries: 1}",
    "context_updates": "{seen: 1}",
}
"""`{key: a value for it}`."""

_RESULT = ("fail_when", "output_variable", "context_updates")
NO_EFFECT = {
    **{(kind, key): "E107" for kind in ("return", "fail") for key in _RESULT},
    **{(kind, "timeout"): "E107" for kind in ("set", "reply", "return", "fail")},
    **{(kind, "retry"): "E107" for kind in ("reply", "return", "fail")},
    **{(kind, "retry"): "W517" for kind in ("set", "approval", "wait")},
}
"""`{(kind, key): the code of the problem}`; a key of a step that is not here has an effect."""

WITH_A_CAUSE = {
    ("set", "retry"): 'fail_when: "{{ context.seen }}"',
    ("approval", "retry"): "timeout: 1h",
    ("wait", "retry"): "deadline: 1h",
}
"""What gives a key of which a step warns an effect."""


SCHEMA = json.loads((ROOT / "docs/schemas/document.json").read_text())
EDITOR = validator_for(SCHEMA)(SCHEMA)
"""The schema with which an editor checks a document."""


def document(step: str) -> str:
    return f"""
llm_config:
  default_provider: scripted
  default_model: demo
  personas:
    writer: {{prompts: {{user: Write.}}}}
    planner: {{execution_plan: [{{name: it, {step}}}]}}
tools: {{find: {{skill: Retriever.search}}}}
orchestration:
  entry_team: main
  teams:
    main:
      tasks:
        - {{name: first, type: wait, message: true}}
        - {{name: plan, agent_type: generic_orchestrating, persona_key: planner}}
        - {{name: last, type: reply, value: 1}}
    other: {{tasks: [{_WAIT}]}}
"""


def codes(step: str, key: str) -> list[str]:
    text, ending = document(step), f".{key}"
    return [one.code for one in problems_of(text) if one.path.endswith(ending)]


def test_every_kind_and_every_key_of_steps_is_tried() -> None:
    assert {*KINDS} == {*STEP_KINDS}
    assert {*KEYS} == {*StepBase.model_fields} - {"name"}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("key", KEYS)
def test_a_key_has_an_effect_on_a_kind_of_step_or_is_reported(kind: str, key: str) -> None:
    expected = [NO_EFFECT[kind, key]] if (kind, key) in NO_EFFECT else []
    assert codes(f"{KINDS[kind]}, {key}: {KEYS[key]}", key) == expected


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("key", KEYS)
def test_an_editor_refuses_a_key_of_a_step_where_the_compiler_does(kind: str, key: str) -> None:
    text = document(f"{KINDS[kind]}, {key}: {KEYS[key]}")
    refused = [*EDITOR.iter_errors(yaml.safe_load(text))] != []
    assert refused is (NO_EFFECT.get((kind, key)) == "E107")


@pytest.mark.parametrize("key", ["timeout", "retry"])
def test_the_reference_names_the_kinds_that_an_attempt_s_key_is_not_for(key: str) -> None:
    (row,) = re.findall(rf"^\| `{key}` \|.* Not for (.*?), which ", REFERENCE, re.M)
    refused = [kind for kind in KINDS if NO_EFFECT.get((kind, key)) == "E107"]
    assert sorted(re.findall(r"`(\w+)`", row)) == sorted(refused)


@pytest.mark.parametrize(("kind", "key"), WITH_A_CAUSE)
def test_a_retry_has_an_effect_where_something_can_fail_that_it_repeats(
    kind: str, key: str
) -> None:
    step = f"{KINDS[kind]}, {key}: {KEYS[key]}, {WITH_A_CAUSE[kind, key]}"
    assert codes(step, key) == []
