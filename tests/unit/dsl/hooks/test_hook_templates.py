"""What the templates and the condition of a hook may read, and what each of them sees."""

import pytest

from coterie.dsl.checks.agents.hook_template_checks import names_at
from coterie.dsl.model.hooks import FACTS_AT, HookSection
from tests.support.compiling import problems_of
from tests.unit.dsl.tools.documents import document

HOOK = "llm_config.personas.planner.hooks[0]"
CHECKED = "on: before_turn, skill: Calculator.evaluate, input: { expression: '1' }"
CALL = "on: before_tool_call, tool: calculate"


def found(hook: str) -> list[tuple[str, str]]:
    keys = f"tools: [read_files, calculate, change]\nhooks: [{{ {hook} }}]"
    return [(one.code, one.path.removeprefix(f"{HOOK}.")) for one in problems_of(document(keys))]


@pytest.mark.parametrize("function", [None, "Calculator.evaluate"])
def test_a_hook_sees_the_facts_of_its_point_and_the_check_of_its_function(
    function: str | None,
) -> None:
    hook = HookSection(on="after_run", decide="fail", skill=function)
    checked = () if function is None else ("check",)
    assert names_at(hook) == ("context", "run", "settings", *FACTS_AT["after_run"], *checked)


@pytest.mark.parametrize(
    "hook",
    [
        f"{CHECKED}, decide: fail, message: 'It gave {{{{ check.value }}}}.'",
        f"{CHECKED}, when: '{{{{ check.value > 1 }}}}', decide: fail",
        f"{CHECKED}, decide: modify, value: '{{{{ check.value }}}}'",
        f"{CALL}, decide: fail, message: '{{{{ arguments.expression }}}}'",
        f"{CALL}, decide: fail, message: '{{{{ context.a.b }}}} {{{{ run.id }}}}'",
        "on: before_turn, decide: fail, message: A plain text.",
    ],
)
def test_what_a_hook_sees_is_no_problem(hook: str) -> None:
    assert found(hook) == []


@pytest.mark.parametrize(
    ("hook", "problem"),
    [
        # the input of the check is written before there is a check
        (
            "on: before_turn, skill: Calculator.evaluate,"
            " input: { expression: '{{ check.value }}' }, decide: fail",
            ("E207", "input.expression"),
        ),
        # no tool function, no check
        ("on: before_turn, when: '{{ check.value }}', decide: fail", ("E207", "when.expression")),
        ("on: before_turn, decide: modify, value: '{{ check.value }}'", ("E207", "value")),
        # what the tool function gives, and what the tool takes, have declared fields
        (f"{CHECKED}, decide: fail, message: '{{{{ check.valeu }}}}'", ("E210", "message")),
        (f"{CALL}, decide: fail, message: '{{{{ arguments.formula }}}}'", ("E210", "message")),
        (f"{CALL}, decide: fail, message: '{{{{ settings.nothing }}}}'", ("E207", "message")),
        # a filter that no template has, and one that does not end
        ("on: before_turn, decide: fail, message: '{{ turn | nope }}'", ("E302", "message")),
        ("on: before_turn, decide: '{{ turn', message: x", ("E301", "decide")),
    ],
)
def test_what_a_hook_does_not_see_is_refused_once_where_it_is_written(
    hook: str, problem: tuple[str, str]
) -> None:
    assert found(hook) == [problem]
