"""Every tool function that a run may call is found, wherever its plan names it."""

import pytest

from coterie.dsl.model.plan import Plan
from coterie.dsl.model.traversal.used_functions import used_functions
from tests.support.compiling import plan_of

HEAD = (
    "tools: {page: {skill: Web.fetch}, papers: {skill: Arxiv.search}}\n"
    "llm_config: {default_provider: x, providers: {x: {default_model: m}}, personas: {p: %s}}\n"
)
AGENT = "{name: s, persona_key: p}"
TOOL_FUNCTION = "{name: s, skill: Web.fetch, input: {url: 'https://a.example'}}"
CALL = "{name: s, tool: page, arguments: {url: 'https://a.example'}}"
PROMPTS = "prompts: {user: hi}"
HOOKS = (
    "hooks: [{name: check, on: before_turn, skill: Retriever.search, input: {query: a}, "
    "when: '{{ check }}', decide: modify, value: late}]"
)
SET = "tasks: [{name: s, type: set, values: {x: 1}}]"
LOOP = "{name: l, type: loop, iterate_on: [1], loop_variable: i, body: [%s]}"
PLAN = "tasks: [{name: s, agent_type: generic_orchestrating, persona_key: p}]"
WHERE = {
    "a step of a plan": (f"{{execution_plan: [{TOOL_FUNCTION}]}}", PLAN, ""),
    "a nested step": (f"{{execution_plan: [{LOOP % TOOL_FUNCTION}]}}", PLAN, ""),
    "a tool step": (f"{{{PROMPTS}}}", f"tasks: [{CALL}]", ""),
    "a nested tool step": (f"{{{PROMPTS}}}", f"tasks: [{LOOP % CALL}]", ""),
    "a tool of a model": (f"{{{PROMPTS}, tools: [page]}}", f"tasks: [{AGENT}]", ""),
    "a hook of the run": (f"{{{PROMPTS}}}", SET, f"{HOOKS}, "),
    "a hook of a persona": (f"{{{PROMPTS}, {HOOKS}}}", f"tasks: [{AGENT}]", ""),
}


def plan_with(persona: str, team: str, more: str = "") -> Plan:
    teams = f"orchestration: {{entry_team: a, {more}teams: {{a: {{{team}}}}}}}\n"
    return plan_of(HEAD % persona + teams)


@pytest.mark.parametrize("where", WHERE)
def test_a_function_is_found_where_it_is_named(where: str) -> None:
    persona, team, more = WHERE[where]
    assert used_functions(plan_with(persona, team, more)) == {
        "Retriever.search" if "hook" in where else "Web.fetch"
    }


def test_a_tool_that_a_template_names_may_be_any() -> None:
    step = "{name: s, tool: '{{ context.tool }}', arguments: {}}"
    found = used_functions(plan_with(f"{{{PROMPTS}}}", f"tasks: [{step}]"))
    assert found == {"Web.fetch", "Arxiv.search"}


def test_a_tool_that_nobody_calls_is_not_used() -> None:
    assert used_functions(plan_with(f"{{{PROMPTS}}}", SET)) == frozenset()
