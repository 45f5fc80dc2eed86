"""Budgets as a document says them, and as a plan has them: whose they are, what they cover."""

import pytest

from coterie.documents.price_lists import known_price
from coterie.dsl.compile.compiler import SourceText, compile_sources
from coterie.dsl.errors import InvalidPlan
from coterie.dsl.model.budgets import Budget, amount, column_money, money
from coterie.dsl.model.plan import Plan
from coterie.dsl.model.price import Price
from coterie.dsl.model.sections.provider_document import ProviderSection
from coterie.dsl.model.steps import LoopStep
from coterie.workflows.core.state import RunState
from coterie.workflows.handlers.start_checks import begin
from tests.support.engine import CAPABILITIES, plan_of

EVERYWHERE = """
llm_config:
  default_provider: scripted
  default_model: demo
  personas:
    writer: {prompts: {user: Write.}, budgets: {tokens: 100}}
    unused: {prompts: {user: Write.}, budgets: {tokens: 1}}
orchestration:
  entry_team: draft
  budgets: {money: 1.5, working_time: 90s}
  teams:
    draft:
      budgets: {model_calls: {limit: 7, warn_at: 0.5, on_exceeded: route, next_team: end}}
      tasks:
        - {name: write, agent_type: generic_single_shot, persona_key: writer}
        - name: again
          agent_type: generic_single_shot
          persona_key: writer
          config: {temperature: 0, budgets: {tool_calls: {limit: 2, on_exceeded: ask}}}
      routing: {default: null}
    end: {tasks: [{name: note, values: {x: 1}}]}
"""


def test_budgets_stand_wherever_something_is_used() -> None:
    budgets = plan_of(EVERYWHERE).budgets
    assert {budget.id: (budget.limit, budget.on_exceeded) for budget in budgets} == {
        "run.money": (1.5, "stop"),
        "run.working_time": (90.0, "stop"),
        "team.draft.model_calls": (7.0, "route"),
        "persona.writer.tokens": (100.0, "stop"),
        "task.draft.again.tool_calls": (2.0, "ask"),
    }


@pytest.mark.parametrize(
    ("budget", "team", "personas", "covered"),
    [
        (Budget(kind="tokens", limit=1), "any", (), True),
        (Budget(kind="tokens", limit=1, scope="team", name="a"), "a", ("p",), True),
        (Budget(kind="tokens", limit=1, scope="team", name="a"), "b", ("p",), False),
        (Budget(kind="tokens", limit=1, scope="persona", name="p"), "b", ("p",), True),
        (Budget(kind="tokens", limit=1, scope="persona", name="p"), "b", ("p@b.task",), True),
        (Budget(kind="tokens", limit=1, scope="persona", name="p"), "b", ("p", "q"), True),
        (Budget(kind="tokens", limit=1, scope="persona", name="p"), "b", ("pq",), False),
        (Budget(kind="tokens", limit=1, scope="task", name="p@b.task"), "b", ("p@b.task",), True),
        (Budget(kind="tokens", limit=1, scope="task", name="p@b.task"), "b", ("p",), False),
    ],
)
def test_a_budget_covers_what_is_its_own(
    budget: Budget, team: str, personas: tuple[str, ...], covered: bool
) -> None:
    assert budget.covers(team, personas) is covered


def test_amounts_are_reported_in_their_own_units() -> None:
    assert amount("tokens", 12345) == "12,345 tokens"
    assert amount("money", 1234.5) == "1,234.50 USD"
    assert amount("money", 0.0504) == "0.0504 USD"
    assert amount("money", 0.05) == "0.05 USD"
    assert amount("model_calls", 1) == "1 call"
    assert amount("tool_calls", 2) == "2 calls"
    assert amount("working_time", 90) == "90 s"


def test_cached_input_has_a_price_of_its_own() -> None:
    assert Price(input=3, output=15).of(1_000_000, 100_000, 400_000) == pytest.approx(4.5)
    assert Price(input=3, output=15, cached=0.5).of(1_000_000, 0, 400_000) == pytest.approx(2.0)


@pytest.mark.parametrize(
    ("loop", "says"),
    [
        ("until: all_success, max_iterations: 9", "stop"),
        ("while: all_success, max_iterations: 9, repeated_calls: allow", "allow"),
        ("iterate_on: [1], loop_variable: n", None),
        ("iterate_on: [1], loop_variable: n, repeated_calls: stop", "stop"),
        ("iterate_on: [1], loop_variable: n, break_when: any_failure", "stop"),
    ],
)
def test_a_loop_tells_by_what_it_is_whether_its_calls_may_repeat(
    loop: str, says: str | None
) -> None:
    assert _loop(loop, "{name: note, values: {x: 1}}").repeated_calls == says


def test_a_loop_that_waits_may_look_again_and_again() -> None:
    polling = _loop("until: all_success, max_iterations: 9", "{name: rest, duration: 5s}")
    assert polling.repeated_calls == "allow"


def _loop(said: str, body: str) -> LoopStep:
    text = f"""
orchestration:
  entry_team: a
  teams:
    a: {{tasks: [{{name: rounds, {said}, body: [{body}]}}]}}
"""
    [step] = plan_of(text).teams["a"].steps
    assert isinstance(step, LoopStep)
    return step


OWN = """
llm_config:
  providers: {local: {kind: openai, api_base: "http://localhost:1/v1", default_model: ours, MORE}}
  default_provider: local
  personas: {writer: {prompts: {user: Write.}}}
orchestration:
  entry_team: a
  budgets: {money: 2}
  teams: {a: {tasks: [{name: t, agent_type: generic_single_shot, persona_key: writer}]}}
"""


@pytest.mark.parametrize(
    ("more", "codes"), [("", ["W511"]), ("prices: {ours: {input: 1, output: 2}}", [])]
)
def test_money_without_a_price_is_warned_of(more: str, codes: list[str]) -> None:
    source = SourceText("a.yml", OWN.replace(", MORE", f", {more}" if more else ""))
    compiled = compile_sources([source], CAPABILITIES, name="a", pricing=known_price)
    assert [problem.code for problem in compiled.warnings] == codes


CALLING = """
llm_config:
  default_provider: scripted
  default_model: demo
  providers: {local: {kind: openai, api_base: "http://localhost:1/v1"}}
  personas:
    lead: {prompts: {user: Lead.}, tools: [ask], budgets: {money: 2}}
    planner: {execution_plan: [{name: go, tool: ask, arguments: {query: x}}], budgets: {money: 2}}
    middle: {description: Asks., prompts: {user: Ask.}, tools: [deeper]}
    writer: {description: Writes., prompts: {user: Write.}, provider: local, model: ours}
    other: {description: Helps., prompts: {user: Help.}}
tools: {ask: WAY, deeper: {agent: writer}, errand: {team: b, description: Asks.}}
orchestration:
  entry_team: a
  context: {query: {type: string, default: ""}}
  teams:
    a: {tasks: [{name: t, persona_key: LEAD}]}
    b: {tasks: [{name: n, values: {x: 1}}], routing: {default: c}}
    c: {tasks: [{name: w, persona_key: USED}]}
"""


@pytest.mark.parametrize("lead", ["lead", "planner"])
@pytest.mark.parametrize(
    ("way", "used", "codes"),
    [
        ("{agent: writer}", "writer", ["W511"]),
        ("{agent: middle}", "writer", ["W511"]),
        ("{team: b, description: Asks.}", "writer", ["W511"]),
        ("{team: b, description: Asks.}", "middle", ["W511"]),
        ("{agent: other}", "writer", []),
    ],
)
def test_money_of_an_agent_is_warned_of_models_that_it_pays_for(
    lead: str, way: str, used: str, codes: list[str]
) -> None:
    text = CALLING.replace("WAY", way).replace("LEAD", lead).replace("USED", used)
    compiled = compile_sources(
        [SourceText("a.yml", text)], CAPABILITIES, name="a", pricing=known_price
    )
    assert [one.code for one in compiled.warnings if one.code == "W511"] == codes


def test_a_price_is_known_or_not() -> None:
    own = ProviderSection.model_validate(
        {"kind": "openai", "prices": {"m": {"input": 1, "output": 1}}}
    )
    assert known_price({"x": own}, "x", "m")
    assert not known_price({"x": own}, "x", "no-model-of-anyone")
    assert known_price({}, "anthropic", "claude-sonnet-4-5")
    assert known_price({}, "scripted", "anything")


def test_a_plan_that_routes_a_budget_nowhere_is_refused() -> None:
    plan = plan_of(EVERYWHERE)
    [broken] = [budget for budget in plan.budgets if budget.next_team]
    lost = plan.model_copy(update={"budgets": (broken.model_copy(update={"next_team": "gone"}),)})
    with pytest.raises(InvalidPlan, match="no team 'gone'"):
        begin(Plan.model_validate(lost.model_dump()), RunState())


@pytest.mark.parametrize(
    ("dollars", "text", "cell"),
    [
        (0.0, "0.00", "0.0000"),
        (1234.5, "1,234.50", "1,234.5000"),
        (0.1232, "0.1232", "0.1232"),
        (0.42, "0.42", "0.4200"),
        (0.0001, "0.0001", "0.0001"),
        (0.000_094, "0.000094", "0.000094"),
        (0.000_001_26, "0.0000013", "0.000001"),
        (0.000_000_05, "0.00000005", "<1e-6"),
    ],
)
def test_money_that_was_spent_never_shows_as_nothing(dollars: float, text: str, cell: str) -> None:
    assert (money(dollars), column_money(dollars)) == (text, cell)
