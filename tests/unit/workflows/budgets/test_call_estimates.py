"""What a model turn will probably use, from what the workflow knows of it."""

import pytest

from activities.contracts import AgentRequest, Conversation
from dsl.model.plan import Persona
from dsl.tool_loop.exchange import OfferedTool, ToolResult, ToolTurn
from workflows.budgets.call_estimates import CallEstimate, estimate_call
from workflows.core.memory import Tally

PERSONA = Persona(provider="p", model="m", prompts={"user": "x" * 400}, max_tokens=50)
FIRST = AgentRequest(team="a", task="b", persona=PERSONA, inputs={})
LATER = AgentRequest(team="a", task="b", conversation=Conversation(head="c"))
EARLIER = Tally("a/b", "w", "p/m", calls=2, input_tokens=300, output_tokens=100)


@pytest.mark.parametrize(
    ("request_", "earlier", "sent"),
    [
        (FIRST, None, 101),
        (FIRST, EARLIER, 101),
        (LATER, None, 0),
        (LATER, EARLIER, 200),
        (LATER, Tally("a/b", "w", "p/m", calls=1, input_tokens=9, largest_call=500), 500),
        (FIRST.model_copy(update={"conversation": LATER.conversation}), EARLIER, 301),
    ],
    ids=["first", "no conversation", "unknown", "mean", "largest", "both"],
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
