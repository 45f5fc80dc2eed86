"""Hooks of documents: compiled into the plan, and refused where they are written."""

import pytest

from dsl.hooks.hook_costs import skill_calls
from dsl.model.plan import Persona
from tests.support.compiling import plan_of, problems_of
from tests.unit.dsl.tools.documents import document

HOOKS = "llm_config.personas.planner.hooks[0]"


def planner(hooks: str) -> Persona:
    return plan_of(document(f"tools: [read_files, calculate, change]\nhooks: [{hooks}]")).personas[
        "planner"
    ]


def found(keys: str) -> list[tuple[str, str]]:
    return [(one.code, one.path) for one in problems_of(document(keys))]


def test_a_hook_reaches_the_plan_with_a_name_and_the_terms_of_its_skill() -> None:
    persona = planner(
        "{ on: before_turn, skill: Calculator.evaluate, input: { expression: '1' }, decide: fail }"
    )
    (hook,) = persona.hooks
    assert hook.label == "planner.before_turn-1"  # a hook of the document may be before_turn-1
    assert hook.terms is not None
    assert hook.terms.effect == "read"
    assert skill_calls(persona.hooks, "before_turn") == 1


def test_a_condition_may_have_every_form() -> None:
    (hook,) = planner(
        "{ on: before_turn, when: [{ context_field: a, operator: eq, value: 1 }, '{{ turn > 1 }}'],"
        " decide: fail }"
    ).hooks
    assert hook.when is not None
    assert hook.when.model_dump(by_alias=True)["and"][1] == {"expression": "{{ turn > 1 }}"}


@pytest.mark.parametrize(
    ("hook", "code", "place"),
    [
        ("on: before_call, decide: fail", "E105", "on"),
        ("on: before_turn, decide: stop", "E105", "decide"),
        ("on: before_turn, decide: retry", "E510", "decide"),
        ("on: after_turn, decide: modify, value: x", "E510", "decide"),
        ("on: before_turn", "E102", "decide"),
        ("on: before_turn, decide: 'a {{ turn }}'", "E109", "decide"),
        ("on: before_run, decide: fail", "E510", "on"),
        ("on: before_turn, tool: calculate, decide: fail", "E510", "tool"),
        ("on: before_tool_call, tool: calculat, decide: fail", "E204", "tool"),
        ("on: before_turn, decide: fail, value: x", "E510", "value"),
        ("on: before_turn, decide: fail, max_retries: 2", "E510", "max_retries"),
        ("on: before_turn, decide: fail, input: x", "E510", "input"),
        ("on: before_turn, decide: modify", "E102", "value"),
        ("on: before_turn, decide: modify, value: { a: 1 }", "E103", "value"),
        ("on: before_tool_call, decide: modify, value: text", "E103", "value"),
        (
            "on: before_tool_call, tool: calculate, decide: modify, value: { expresion: x }",
            "E213",
            "value.expresion",
        ),
        ("on: before_turn, skill: Calculator.evaluat, decide: fail", "E204", "skill"),
        ("on: before_turn, skill: Calculator.evaluate, decide: fail", "E213", "input"),
        ("on: before_turn, when: '{{ arguments.a }}', decide: fail", "E207", "when"),
        ("on: before_turn, when: '{{ tasks.a.data }}', decide: fail", "E207", "when"),
        ("on: before_turn, when: { task: plan, status: success }, decide: fail", "E109", "when"),
        ("on: before_turn, when: all_success, decide: fail", "E109", "when"),
        ("on: before_turn, decide: fail, message: '{{ check }}'", "E207", "message"),
        ("on: before_turn, decide: fail, message: '{{ turn'", "E301", "message"),
        (
            "on: before_turn, skill: Web.search, input: { query: x }, decide: fail",
            "E510",
            "skill",
        ),
        ("name: a/b, on: before_turn, decide: fail", "E105", "name"),
        (
            "on: before_tool_call, tool: calculate, when: '{{ arguments.formula }}', decide: fail",
            "E210",
            "when",
        ),
    ],
)
def test_a_mistake_is_refused_where_it_is_written(hook: str, code: str, place: str) -> None:
    problems = found(f"tools: [read_files, calculate, change]\nhooks: [{{ {hook} }}]")
    assert [(one, path.removesuffix(".expression")) for one, path in problems] == [
        (code, f"{HOOKS}.{place}")
    ]


def test_every_mistake_of_a_condition_is_told_at_once() -> None:
    when = "[{ task: plan, status: success }, '{{ arguments.a }}', '{{ tasks.b }}', '{{ turn']"
    problems = found(f"hooks: [{{ on: before_turn, when: {when}, decide: fail }}]")
    assert [code for code, _ in problems] == ["E109", "E207", "E207", "E301"]
    assert len({path for _, path in problems}) == 4


def test_every_template_of_a_value_is_checked() -> None:
    value = "{ expression: '{{ turn }}', a: ['{{ tasks.b }}', 1, '{{ tasks.c }}'] }"
    hook = f"on: before_turn, skill: Calculator.evaluate, input: {value}, decide: fail"
    codes = [code for code, _ in found(f"hooks: [{{ {hook} }}]")]
    assert codes.count("E207") == 2


def test_a_retry_may_not_repeat_an_effect() -> None:
    tools = "act: { skill: CommandRunner.run_once, fixed: { command: deploy } }"
    hook = "{ on: after_tool_call, tool: 'a*', decide: retry }"
    problems = problems_of(document(f"tools: [act]\nhooks: [{hook}]", tools))
    assert ("E510", f"{HOOKS}.decide") in [(one.code, one.path) for one in problems]


def test_two_hooks_of_one_name_are_refused() -> None:
    hooks = "{ name: a, on: before_turn, decide: fail }"
    assert found(f"hooks: [{hooks}, {hooks}]") == [
        ("E208", "llm_config.personas.planner.hooks[1].name")
    ]


def test_a_hook_of_calls_needs_tools() -> None:
    assert found("hooks: [{ on: before_tool_call, decide: fail }]") == [("E510", f"{HOOKS}.on")]


def test_a_streamed_answer_may_not_be_refused_by_a_hook() -> None:
    hook = "{ on: after_model_call, when: '{{ answer.text == 1 }}', decide: fail }"
    assert found(f"stream: true\nhooks: [{hook}]") == [("E506", f"{HOOKS}.on")]


def test_an_agent_with_a_plan_has_no_hooks() -> None:
    keys = (
        "prompts: ~\nexecution_plan: [{ name: a, type: set, values: { b: 1 } }]\n"
        "hooks: [{ on: before_turn, decide: fail }]"
    )
    text = document(keys).replace('      prompts: { user: "Plan {{ input.query }}." }\n', "")
    assert [(one.code, one.path) for one in problems_of(text)] == [
        ("E510", "llm_config.personas.planner.hooks")
    ]


def test_a_tool_of_the_document_needs_no_persona_for_a_hook_of_the_document() -> None:
    text = document("tools: [read_files, calculate, change]").replace(
        "  entry_team: main\n",
        "  entry_team: main\n"
        "  hooks:\n"
        "    - { on: before_tool_call, tool: 'read_*', decide: reject }\n"
        "    - { on: after_run, decide: modify, value: '{{ output }}' }\n",
    )
    assert [hook.label for hook in plan_of(text).hooks] == ["before_tool_call-1", "after_run-2"]


def test_a_hook_of_a_persona_and_one_of_the_document_have_different_names() -> None:
    text = document("tools: [read_files]\nhooks: [{ name: guard, on: before_turn, decide: fail }]")
    both = text.replace(
        "  entry_team: main\n",
        "  entry_team: main\n  hooks: [{ name: guard, on: after_turn, decide: fail }]\n",
    )
    (problem,) = problems_of(both)
    assert (problem.code, problem.path) == ("E208", f"{HOOKS}.name")
    assert "another hook is called 'guard' already, at line" in problem.message
