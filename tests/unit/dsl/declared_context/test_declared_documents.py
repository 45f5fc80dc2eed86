"""A document that declares its context: the plan, the inputs, and who uses each path."""

import pytest

from coterie.dsl.analysis.context_use import users_of_plan
from coterie.dsl.analysis.findings import analysed, with_needs
from coterie.dsl.errors import Problem
from coterie.dsl.model.context.declarations import DeclaredPath
from coterie.explaining.values_text import context_text
from coterie.graph.picture import picture
from tests.support.compiling import compiled, plan_of, problems_of

DECLARED = """
orchestration:
  entry_team: one
  context:
    goal: { type: string, minLength: 3 }
    notes: { type: array, default: [], keep_last: 2 }
    progress: { type: object, default: {} }
    order: { default: null }
  teams:
    one:
      resets: [notes]
      tasks:
        - { name: look, type: set, values: { it: "{{ context.goal }} {{ context.progress.a.b }}" } }
        - { name: call, type: team, team: two, input: { order: "{{ it }}" } }
      routing:
        default: null
        context_updates: { notes: "{{ [it] }}", progress.done: true }
    two:
      tasks:
        - { name: rest, type: wait, duration: 1s, when: { context_field: order, operator: exists } }
"""
FREE = """
orchestration:
  entry_team: one
  teams:
    one:
      tasks: [{ name: look, type: set, values: { it: "{{ context.goal }}" } }]
"""


def test_a_plan_holds_schema_default_and_bound_of_each_path() -> None:
    plan = plan_of(DECLARED)
    assert plan.context == {
        "goal": DeclaredPath(schema={"type": "string", "minLength": 3}, required=True),
        "notes": DeclaredPath(schema={"type": "array"}, default=[], keep_last=2),
        "progress": DeclaredPath(schema={"type": "object"}, default={}),
        "order": DeclaredPath(),
    }
    assert plan.teams["one"].resets == ("notes",)


def test_a_plan_without_declarations_has_no_trace_of_them() -> None:
    text = plan_of(FREE).model_dump_json(exclude_defaults=True)
    assert "context" not in text.replace("context.goal", "")
    assert "resets" not in text


def test_the_declared_inputs_are_those_of_the_document() -> None:
    found = analysed(compiled(DECLARED))
    assert [(one.path, one.needed, one.form, one.default) for one in found.inputs] == [
        ("goal", True, "a text (minLength 3)", ""),
        ("notes", False, "a list", "[]"),
        ("progress", False, "a mapping", "{}"),
        ("order", False, "a value", "null"),
    ]
    assert found.findings == ()
    assert with_needs(compiled(DECLARED)).plan.needs == {}


def test_a_path_that_no_team_uses_is_a_warning_on_its_line() -> None:
    text = DECLARED.replace("  teams:\n", "    unused: { type: string }\n  teams:\n", 1)
    (problem,) = analysed(compiled(text)).findings
    assert (problem.code, problem.line) == ("W519", 9)


def found(text: str) -> list[Problem]:
    return [one for one in problems_of(text) if one.severity == "error"]


@pytest.mark.parametrize(
    ("old", "new", "code", "fix"),
    [
        ("context.goal", "context.gaol", "E215", "did you mean 'goal'?"),
        ("context_field: order", "context_field: ordr", "E215", "did you mean 'order'?"),
        ("{ notes: ", "{ note: ", "E215", "did you mean 'notes'?"),
        ("{ order: ", "{ ordr: ", "E215", "did you mean 'order'?"),
        ("resets: [notes]", "resets: [note]", "E215", "did you mean 'notes'?"),
        ('"{{ [it] }}"', "it", "E405", "write a value that the schema allows"),
        ("context.goal", "context.goal.first", "E210", ""),
    ],
)
def test_what_does_not_fit_the_declarations_is_one_problem_with_its_cure(
    old: str, new: str, code: str, fix: str
) -> None:
    (problem,) = found(DECLARED.replace(old, new, 1))
    assert problem.code == code
    assert fix in problem.fix


@pytest.mark.parametrize("path", ["context", "context.progress", "context.progress.a.b['c.d']"])
def test_a_whole_and_what_is_below_a_declared_map_are_free(path: str) -> None:
    assert found(DECLARED.replace("context.goal", path, 1)) == []


def test_prompts_are_checked_too() -> None:
    prompt = """
llm_config:
  personas:
    old: { provider: scripted, model: m, prompt_syntax: braces, prompts: { user: "{goal} {gaol}" } }
"""
    step = "- { name: ask, agent_type: generic_single_shot, persona_key: old }"
    task = f"\n        {step}\n      routing"
    (problem,) = found(prompt + DECLARED.replace("\n      routing", task, 1))
    assert problem.code == "E215"
    assert "'gaol'" in problem.message


def test_resets_need_declarations() -> None:
    text = FREE.replace("      tasks:", "      resets: [goal]\n      tasks:", 1)
    (problem,) = found(text)
    assert problem.code == "E107"


def test_an_empty_section_is_refused() -> None:
    (problem,) = found(FREE.replace("  teams:", "  context: {}\n  teams:", 1))
    assert problem.code == "E106"


def test_each_path_knows_who_reads_writes_and_resets_it() -> None:
    users = users_of_plan(plan_of(DECLARED))
    assert {path: (one.readers, one.writers, one.resetters) for path, one in users.items()} == {
        "goal": (["one"], [], []),
        "notes": ([], ["one"], ["one"]),
        "progress": (["one"], ["one"], []),
        "order": (["two"], ["one"], []),
    }
    assert users_of_plan(plan_of(FREE)) == {}


def test_check_lists_what_teams_do_to_each_path() -> None:
    text = DECLARED.replace('notes: "{{ [it] }}"', 'notes: { append: "{{ it }}" }', 1)
    inputs = {one.path: one.operations for one in analysed(compiled(text)).inputs}
    assert inputs == {
        "goal": (),
        "notes": ("append",),
        "progress": ("replace",),
        "order": ("replace",),
    }


def test_an_output_reads_a_path() -> None:
    read = DECLARED.replace("  teams:\n", "  output: '{{ context.order }}'\n  teams:\n", 1)
    assert users_of_plan(plan_of(read))["order"].readers == ["two", "the output"]


def test_explain_and_the_graph_show_the_users_of_a_path() -> None:
    plan = plan_of(DECLARED)
    assert "notes" in (text := context_text(plan, ["notes"]))
    assert "a list" in text
    assert "written (replace) by one; reset by one" in text
    assert "goal" not in text
    boxes = {box.id: box.limits for box in picture(plan).boxes}
    assert boxes["one"] == ("reads goal, progress", "writes notes, progress, order", "resets notes")
    assert picture(plan_of(FREE)).boxes[0].limits == ()
