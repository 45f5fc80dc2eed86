"""A step of a task graph gets only the fields of `graph` that a template of its steps reads."""

import pytest

from coterie.dsl.evaluate.graph_reads import graph_fields
from coterie.dsl.model.facts import GRAPH
from coterie.dsl.model.steps import TaskGraphStep
from tests.support.compiling import plan_of

DOCUMENT = """
llm_config:
  default_provider: anthropic
  default_model: claude-sonnet-5-5
  personas:
    writer: {{ prompts: {{ user: "{prompt}" }} }}
    idle: {{ prompts: {{ user: "Look at {{{{ graph.dependencies }}}}" }} }}
orchestration:
  entry_team: t
  teams:
    t:
      tasks:
        - name: g
          type: task_graph
          tasks: [{{ id: a }}, {{ id: b }}]
          task_variable: task
          {more}
          body: [{body}]
"""
WRITE = "{ name: write, agent_type: generic_single_shot, persona_key: writer }"


def fields(*, body: str = WRITE, more: str = "on_failure: continue", prompt: str = "") -> set[str]:
    plan = plan_of(DOCUMENT.format(body=body, more=more, prompt=prompt or "Write."))
    [step] = plan.teams["t"].steps
    assert isinstance(step, TaskGraphStep)
    return set(graph_fields(step, plan.personas))


@pytest.mark.parametrize(
    ("prompt", "read"),
    [
        ("Write.", set[str]()),
        ("{{ task.id }} {{ context.graph }}", set[str]()),
        ("{{ graph.error }}", {"error"}),
        ("{{ graph.error.message }} of {{ graph.iteration }}", {"error", "iteration"}),
        ("{% for one in graph.tasks %}{{ one.id }}{% endfor %}", {"tasks"}),
        ("{{ graph }}", set(GRAPH)),
    ],
)
def test_a_prompt_gets_the_fields_that_it_names(prompt: str, read: set[str]) -> None:
    assert fields(prompt=prompt) == read


@pytest.mark.parametrize(
    ("body", "more", "read"),
    [
        ("{ name: s, type: set, values: { a: [{ b: '{{ graph.error }}' }] } }", "", {"error"}),
        (
            "{ name: s, type: set, when: '{{ graph.iteration > 2 }}', values: { a: 1 } }",
            "",
            {"iteration"},
        ),
        (
            "{ name: l, type: loop, iterate_on: [1], loop_variable: i, body: "
            "[{ name: s, type: set, values: { a: '{{ graph.tasks }}' } }] }",
            "",
            {"tasks"},
        ),
        (
            "{ name: s, type: set, values: { a: 1 } }",
            "add: [{ id: '{{ graph.iteration }}' }]\n          max_tasks: 9",
            {"iteration"},
        ),
        (
            "{ name: s, type: set, values: { a: 1 } }",
            "select: [{ name: c, type: set, values: { a: 1 } }]\n"
            "          chosen: '{{ graph.available[0].id }}'",
            {"available"},
        ),
    ],
)
def test_every_value_and_condition_of_its_steps_is_read(
    body: str, more: str, read: set[str]
) -> None:
    assert fields(body=body, more=more or "on_failure: continue") == read


def test_a_template_that_cannot_be_read_hides_no_other_one() -> None:
    plan = plan_of(DOCUMENT.format(body=WRITE, more="on_failure: continue", prompt="Write."))
    [step] = plan.teams["t"].steps
    assert isinstance(step, TaskGraphStep)
    prompts = {"system": "{{ graph.tasks", "user": "{{ graph.error }}"}
    writer = plan.personas["writer"].model_copy(update={"prompts": prompts})
    assert graph_fields(step, {**plan.personas, "writer": writer}) == {"error"}
