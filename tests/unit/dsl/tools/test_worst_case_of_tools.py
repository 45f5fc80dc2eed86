"""The worst case of agents that use tools: their turns, their calls, and the agents they call."""

from coterie.dsl.analysis.findings import analysed
from coterie.dsl.analysis.worst_case import Figures, worst_case
from coterie.dsl.analysis.worst_case_of_models import Terms
from tests.support.compiling import compiled
from tests.unit.dsl.tools.documents import document


def total(planner: str, tools: str = "it: { skill: Discovery.collect }") -> Figures:
    done = compiled(document(planner, tools))
    return worst_case(done, analysed(done), Terms({}, 1000)).total


def test_an_agent_takes_its_turns_one_more_and_its_reasks() -> None:
    assert total("tools: [it]\nmax_turns: 4\nmax_reasks: 2").model_calls == 4 + 1 + 2
    assert total("tools: [it]\nmax_turns: 4\ntool_choice: none\nmax_reasks: 2").model_calls == 3


def test_a_turn_makes_a_hundred_calls_at_most_or_one() -> None:
    keys = "tools: [it]\nmax_turns: 4\nmax_reasks: 0"
    assert total(keys).function_calls == 400
    assert total(f"{keys}\nparallel_tool_calls: false").function_calls == 4
    assert total(f"{keys}\ntool_calls: return").function_calls == 0


def test_a_policy_bounds_the_calls_of_a_tool() -> None:
    keys = "tools: [it]\nmax_turns: 4\ntool_policy: [{ tool: it, max_calls: 3 }]"
    assert total(keys).function_calls == 3


def test_a_call_of_an_agent_costs_its_own_turns() -> None:
    keys = "tools: [it]\nmax_turns: 4\nmax_reasks: 0\nparallel_tool_calls: false"
    tools = "it: { agent: helper, on_error: retry, retries: 1 }"
    assert total(keys, tools).model_calls == 5 + 4 * 2 * 3


def test_a_call_of_a_team_counts_its_visits() -> None:
    keys = "tools: [it]\nmax_turns: 4\nmax_reasks: 0\nparallel_tool_calls: false"
    assert total(keys, "it: { team: review, description: x }").visits == 1 + 4
    asked = "it: { skill: Discovery.collect, requires_approval: { deadline: 1h } }"
    assert total(keys, asked).approvals == 4


def test_calls_of_one_tool_leave_the_rest_to_those_that_cost_something_else() -> None:
    keys = (
        "tools: [it, other]\nmax_turns: 4\nmax_reasks: 0\nparallel_tool_calls: false\n"
        "tool_policy: [{ tool: it, max_calls: 1 }]"
    )
    found = total(keys, "it: { agent: helper }\nother: { skill: Discovery.collect }")
    assert (found.model_calls, found.function_calls) == (5 + 1 * 3, 4)
