"""Hooks of documents: compiled into the plan, and refused where they are written."""

import pytest

from coterie.dsl.hooks.hook_costs import function_calls
from coterie.dsl.model.plan import Persona
from tests.support.compiling import plan_of, problems_of
from tests.unit.dsl.tools.documents import TOOLS, document

HOOKS = "llm_config.personas.planner.hooks[0]"


def planner(hooks: str) -> Persona:
    return plan_of(document(f"tools: [read_files, calculate, change]\nhooks: [{hooks}]")).personas[
        "planner"
    ]


def found(keys: str) -> list[tuple[str, str]]:
    return [(one.code, one.path) for one in problems_of(document(keys))]


def test_a_hook_reaches_the_plan_with_a_name_and_the_terms_of_its_function() -> None:
    persona = planner(
        "{ on: before_turn, skill: Calculator.evaluate, input: { expression: '1' }, decide: fail }"
    )
    (hook,) = persona.hooks
    assert hook.label == "planner.before_turn-1"  # a hook of the document may be before_turn-1
    assert hook.terms is not None
    assert hook.terms.effect == "read"
    assert function_calls(persona.hooks, "before_turn") == 1


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


def test_every_mistake_of_a_condition_is_reported_at_once() -> None:
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


def reported(text: str) -> list[tuple[str, str, str, str]]:
    """What is wrong with a text; the tools that it never calls are no matter here."""
    found = [one for one in problems_of(text) if one.code != "W520"]
    return [(one.code, one.message, one.allowed, one.fix) for one in found]


def with_hooks(hooks: str, planner: str = "tools: [read_files, calculate, change]") -> str:
    """A document with hooks of its own, in flow style."""
    return document(planner).replace(
        "  entry_team: main\n", f"  entry_team: main\n  hooks: [{hooks}]\n"
    )


def test_a_hook_of_a_persona_names_its_offered_tools_and_one_of_the_document_every_tool() -> None:
    hook = "{ on: before_tool_call, tool: chang, decide: fail }"
    fix = "did you mean 'change'?"
    assert reported(document(f"tools: [read_files, change]\nhooks: [{hook}]")) == [
        ("E204", "unknown offered tool 'chang'", "change, read_files", fix)
    ]
    assert reported(with_hooks(hook)) == [
        ("E204", "unknown tool 'chang'", "calculate, change, read_files", fix)
    ]


@pytest.mark.parametrize(
    "hook",
    [
        "{ on: after_tool_call, tool: 'read*', decide: retry, max_retries: 2 }",
        "{ on: after_tool_call, tool: 'helper', decide: retry }",
        "{ on: before_turn, decide: \"{{ 'fail' if turn > 1 else 'continue' }}\", value: x }",
        "{ on: before_turn, decide: modify, value: '{{ agent }}' }",
        "{ on: before_turn, decide: modify, value: text }",
        "{ on: before_turn, decide: modify, value: null }",
        "{ on: before_model_call, decide: modify, value: text }",
        "{ on: after_model_call, decide: modify, value: { a: 1 } }",
        "{ on: after_tool_call, tool: calculate, decide: modify, value: { expresion: x } }",
        "{ on: before_tool_call, tool: calculate, decide: modify, value: { expression: x } }",
        "{ on: before_tool_call, tool: calculate, decide: modify, value: {} }",
        "{ on: before_tool_call, decide: modify, value: '{{ arguments }}' }",
        "{ on: before_turn, skill: CommandRunner.run, input: { command: pytest }, decide: fail }",
        "{ on: before_turn, skill: CommandRunner.run, input: { command: '{{ task }}' },"
        " decide: fail }",
        "{ on: before_turn, when: { context_field: a, operator: exists }, decide: fail }",
        "{ name: x.y-z_1, on: after_turn, decide: continue }",
    ],
)
def test_a_sound_hook_is_no_problem(hook: str) -> None:
    tools = TOOLS + "helper: { agent: helper }\n"
    keys = f"tools: [read_files, calculate, change, helper]\nhooks: [{hook}]"
    assert problems_of(document(keys, tools)) == ()


@pytest.mark.parametrize(
    ("hook", "code", "message"),
    [
        (
            "{ on: before_model_call, decide: modify, value: [1] }",
            "E103",
            "`value` at `before_model_call` is a list, and must be a note for the model",
        ),
        (
            "{ on: before_turn, skill: CommandRunner.run, input: { command: pytst },"
            " decide: fail }",
            "E209",
            "unknown command 'pytst'",
        ),
        (
            "{ on: before_turn, decide: '{{ turn', message: x }",
            "E301",
            None,
        ),
    ],
)
def test_a_wrong_hook_is_reported_with_its_reason(
    hook: str, code: str, message: str | None
) -> None:
    found = reported(document(f"tools: [read_files]\nhooks: [{hook}]"))
    assert [one[0] for one in found] == [code]
    assert message is None or [one[1] for one in found] == [message]


def test_the_hooks_of_a_run_change_its_context_by_a_mapping() -> None:
    assert reported(with_hooks("{ on: before_run, decide: modify, value: text }")) == [
        (
            "E103",
            "`value` at `before_run` is a text, and must be a mapping of context paths to values",
            "",
            "write a mapping of context paths to values",
        )
    ]
    assert reported(with_hooks("{ on: before_run, decide: modify, value: { a: 1 } }")) == []
    assert reported(with_hooks("{ on: after_run, decide: modify, value: text }")) == []


@pytest.mark.parametrize(
    ("hook", "refused"),
    [
        ("{ on: after_model_call, decide: continue }", False),
        ("{ on: before_turn, decide: fail }", False),
        ("{ on: after_turn, decide: fail }", True),
        ("{ on: after_model_call, decide: '{{ turn }}' }", True),
    ],
)
def test_a_streamed_answer_is_refused_by_hooks_that_come_after_it(hook: str, refused: bool) -> None:
    codes = [one[0] for one in reported(document(f"stream: true\nhooks: [{hook}]"))]
    assert codes == (["E506"] if refused else [])


def test_hooks_without_a_name_are_never_called_the_same() -> None:
    hook = "{ on: before_turn, decide: fail }"
    assert reported(with_hooks(f"{hook}, {hook}", f"hooks: [{hook}, {hook}]")) == []


def test_of_three_hooks_with_one_name_each_later_one_names_the_first() -> None:
    hook = "{ name: a, on: before_turn, decide: fail }"
    text = document(f"hooks:\n  - {hook}\n  - {hook}\n  - {hook}")
    first = text[: text.index(hook)].count("\n") + 1
    assert [one[1] for one in reported(text)] == [
        f"another hook is called 'a' already, at line {first}"
    ] * 2
