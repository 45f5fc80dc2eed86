"""What a model turn will probably use, from what the workflow knows of it."""

import pytest

from coterie.activities.contracts import AgentRequest, Conversation, Reask
from coterie.dsl.model.plan import Persona
from coterie.dsl.model.price import Price
from coterie.dsl.tool_loop.exchange import OfferedTool, ToolResult, ToolTurn
from coterie.workflows.budgets.call_estimates import CallEstimate, estimate_call, estimated_news
from coterie.workflows.core.state import RunState
from coterie.workflows.core.state_parts import Tally
from tests.support.compiling import plan_of

PERSONA = Persona(provider="p", model="m", prompts={"user": "x" * 400}, max_tokens=50)
FIRST = AgentRequest(team="a", task="b", persona=PERSONA, inputs={})
LATER = AgentRequest(team="a", task="b", conversation=Conversation(head="c"))


def _again(answered: int) -> Reask:
    return Reask(number=1, answer="a" * answered, problem="p" * 80)


EARLIER = Tally("a/b", "w", "p/m", calls=2, input_tokens=300, output_tokens=100)


@pytest.mark.parametrize(
    ("request_", "earlier", "sent"),
    [
        (FIRST, None, 101),
        (FIRST, EARLIER, 101),
        (LATER, None, 0),
        (LATER, EARLIER, 200),
        (LATER, Tally("a/b", "w", "p/m", calls=1, input_tokens=90), 90),
        (LATER, Tally("a/b", "w", "p/m", calls=1, input_tokens=9, largest_call=500), 500),
        (FIRST.model_copy(update={"conversation": LATER.conversation}), EARLIER, 301),
    ],
    ids=["first", "no conversation", "unknown", "mean", "only one", "largest", "both"],
)
def test_input_is_estimated_from_the_request_and_earlier_turns(
    request_: AgentRequest, earlier: Tally | None, sent: int
) -> None:
    found = estimate_call(PERSONA, "p/m", request_, earlier)
    assert found == CallEstimate("p/m", sent, 50)
    assert found.tokens == sent + 50


def test_tools_and_their_results_are_sent_too() -> None:
    offered = (OfferedTool(name="t", description="d" * 38),)
    results = (ToolResult(text="r" * 160),)
    plain = estimate_call(PERSONA, "p/m", LATER, None).sent
    turn = ToolTurn(offered=offered, results=results)
    asked = LATER.model_copy(update={"tool_turn": turn})
    assert estimate_call(PERSONA, "p/m", asked, None).sent - plain == 50


@pytest.mark.parametrize(
    ("request_", "news"),
    [
        (LATER, 0),
        (LATER.model_copy(update={"notices": ("n" * 40, "n" * 20)}), 15),
        (
            LATER.model_copy(update={"reask": _again(99)}),
            20,
        ),
        (
            LATER.model_copy(
                update={"tool_turn": ToolTurn(results=(ToolResult(text="r" * 160, size=400),))}
            ),
            140,
        ),
        (FIRST, 101),
        (FIRST.model_copy(update={"notices": ("n" * 40,)}), 111),
        (
            FIRST.model_copy(update={"reask": _again(40)}),
            131,
        ),
        (
            LATER.model_copy(
                update={
                    "notices": ("n" * 40,),
                    "reask": _again(99),
                    "tool_turn": ToolTurn(results=(ToolResult(text="", size=401),)),
                }
            ),
            131,
        ),
    ],
    ids=["nothing", "notices", "again", "results", "first", "first noted", "first again", "all"],
)
def test_a_turn_adds_its_prompts_notices_problem_and_results_once(
    request_: AgentRequest, news: int
) -> None:
    assert estimated_news(request_) == news


def test_a_call_costs_its_price_or_the_mean_of_what_its_model_has_cost() -> None:
    plan = plan_of("orchestration: {entry_team: a, teams: {a: {tasks: [{name: s}]}}}")
    tallies = [
        Tally("a/s", model="p/m", input_tokens=300, output_tokens=100, cost=3.0),
        Tally("a/t", model="p/m", input_tokens=200, output_tokens=200, cost=1.0),
        Tally("a/u", model="p/m", input_tokens=99, output_tokens=99),
        Tally("a/v", model="p/other", input_tokens=9, output_tokens=9, cost=100.0),
    ]
    state = RunState(tallies={one.task: one for one in tallies})
    assert CallEstimate("p/m", 30, 10).cost(plan, state) == pytest.approx(0.2)
    assert CallEstimate("p/none", 30, 10).cost(plan, state) is None
    unused = RunState(tallies={"a/s": Tally("a/s", model="p/m", cost=0.0)})
    assert CallEstimate("p/m", 30, 10).cost(plan, unused) is None
    price = Price(input=1_000, output=2_000)
    priced = plan.model_copy(update={"prices": {"p/m": price}})
    assert CallEstimate("p/m", 30, 10).cost(priced, state) == pytest.approx(0.05)
