"""What calls no model needs no provider, no model, no key and no price; what may call one does."""

from pathlib import Path

import pytest

from coterie.doctor.examination import examine
from coterie.documents.compilation import compile_target
from coterie.documents.price_lists import prices
from coterie.documents.worker_trust import key_names, missing_keys
from coterie.dsl.model.price import Price
from coterie.settings import load
from tests.support.compiling import problems_of

TOOL_FUNCTION = "{ name: sum, skill: Calculator.evaluate, input: { expression: 1 + 1 } }"
ASKER = "w: { description: W, prompts: { user: Write. } }"
HOOKS = (
    "  hooks: [{ on: before_run, skill: Calculator.evaluate, input: { expression: 1 + 1 },"
    " decide: modify, value: { a: 1 } }]\n"
)
FOLLOWS = "agent_type: generic_orchestrating, persona_key: p"
PLAN = f"execution_plan: [{TOOL_FUNCTION}]"
CALL = "{ name: call, tool: t, arguments: { query: x } }"
CALLER = f"p: {{ execution_plan: [{CALL}] }}"
PLANNED = f"q: {{ description: Q, {PLAN} }}"
OWN = "agent_type: 'mine:agent', persona_key: p"
BOTH = f"p: {{ prompts: {{ user: Go. }}, {PLAN} }}"
SINGLE = "agent_type: generic_single_shot, persona_key: w"
CASES = {
    "a plan of tool functions": (False, f"p: {{ {PLAN} }}", FOLLOWS, ""),
    "a plan in the config": (False, "p: {}", f"{FOLLOWS}, config: {{ {PLAN} }}", ""),
    "a plan within a plan": (
        False,
        f"p: {{ execution_plan: [{{ name: in, persona_key: q }}] }}, {PLANNED}",
        FOLLOWS,
        "",
    ),
    "a tool with a plan": (
        False,
        f"{CALLER}, {PLANNED}",
        FOLLOWS,
        "tools: { t: { agent: q } }",
    ),
    "a hook that calls a tool function": (False, f"p: {{ {PLAN} }}", FOLLOWS, ""),
    "a class of the user's own": (False, "", "agent_class: mine.Agent", ""),
    "a persona without a task": (False, f"p: {{ {PLAN} }}, {ASKER}", FOLLOWS, ""),
    "a plan with an agent": (
        True,
        f"p: {{ execution_plan: [{TOOL_FUNCTION}, {{ name: write, persona_key: w }}] }}, {ASKER}",
        FOLLOWS,
        "",
    ),
    "an agent type of the user's own": (True, BOTH, OWN, ""),
    "a plan first followed, then asked": (True, BOTH, f"{FOLLOWS} }}, {{ name: own, {OWN}", ""),
    "a plan first asked, then followed": (True, BOTH, f"{OWN} }}, {{ name: own, {FOLLOWS}", ""),
    "a prompt": (True, ASKER, SINGLE, ""),
    "a tool with a prompt": (True, f"{CALLER}, {ASKER}", FOLLOWS, "tools: { t: { agent: w } }"),
    "subagents": (
        True,
        f"w: {{ prompts: {{ user: Go. }}, subagents: [q] }}, {PLANNED}",
        "agent_type: generic_tool_calling, persona_key: w",
        "",
    ),
}
"""`{what: (whether it may ask a model, personas, the agent's keys, other sections)}`."""


def document(what: str, defaults: str = "") -> str:
    """A team whose only agents are those of the case."""
    _, personas, keys, sections = CASES[what]
    hooks = HOOKS if what == "a hook that calls a tool function" else ""
    return (
        f"llm_config: {{ {defaults}personas: {{ {personas} }} }}\n{sections}\n"
        f"orchestration:\n  entry_team: a\n{hooks}"
        f"  teams: {{ a: {{ tasks: [{{ name: do, {keys} }}] }} }}\n"
    )


@pytest.mark.parametrize("what", CASES)
def test_a_provider_is_needed_only_where_a_model_may_be_called(what: str) -> None:
    errors = {one.code for one in problems_of(document(what)) if one.severity == "error"}
    assert errors == ({"E102"} if CASES[what][0] else set())


@pytest.mark.parametrize("what", CASES)
async def test_a_key_is_asked_for_and_a_price_is_looked_up_only_where_a_model_may_be_called(
    what: str, tmp_path: Path
) -> None:
    asks = CASES[what][0]
    (tmp_path / "config" / "teams").mkdir(parents=True)
    (tmp_path / "coterie.yml").write_text("worker: { agent_packages: [mine] }\n")
    text = document(what, "default_provider: openai, default_model: m, ")
    (tmp_path / "config" / "teams" / "x.yml").write_text(text)
    settings = load({}, tmp_path)
    found = compile_target(settings, "x")
    plan = found.compiled.plan
    assert len(missing_keys(key_names(plan, found.trusted), settings)) == asks
    priced = prices(plan, found.compiled.providers, {"openai/m": Price(input=1, output=1)}, "", 1)
    assert len(priced.prices) == asks
    examined = await examine(settings, offline=True)
    levels = [one.level.name for one in examined if one.text == "openai: OPENAI_API_KEY is not set"]
    assert levels == ["WARNING" if asks else "OPTIONAL"]
