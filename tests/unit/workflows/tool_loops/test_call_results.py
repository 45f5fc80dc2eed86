"""What a model gets of a call that ended."""

import pytest

from coterie.activities.contracts import KeptResult
from coterie.dsl.model.outcomes import Outcome
from coterie.dsl.tool_loop.exchange import ToolResult
from coterie.workflows.agents.loop.agent_calls import MadeCall, result_for_model

LARGE = KeptResult(name="blob", size=9_000, preview="...")


@pytest.mark.parametrize(
    ("made", "result"),
    [
        (MadeCall(Outcome.succeeded("as it is")), ToolResult(text="as it is")),
        (
            MadeCall(Outcome.succeeded({"stra\u00dfe": [1, None]})),
            ToolResult(text='{"stra\u00dfe":[1,null]}'),
        ),
        (MadeCall(Outcome.succeeded(1), note="changed"), ToolResult(text="changed\n1")),
        (MadeCall(Outcome.succeeded(), LARGE), ToolResult(text="", kept="blob", size=9_000)),
        (
            MadeCall(Outcome.succeeded(), LARGE, "changed"),
            ToolResult(text="changed\n", kept="blob", size=9_000),
        ),
        (
            MadeCall(Outcome.failed("E", "no", {"x": 1}), note="changed"),
            ToolResult(text="changed\nE: no", failed=True),
        ),
        (
            MadeCall(Outcome.failed("E", "x" * 5_000)),
            ToolResult(text="E: " + "x" * 3_997 + " [cut off: 1,003 more characters]", failed=True),
        ),
    ],
)
def test_a_model_gets_the_whole_result_with_a_note_and_the_beginning_of_a_failure(
    made: MadeCall, result: ToolResult
) -> None:
    assert result_for_model(made, None)[0] == result


def test_results_are_equal_if_the_model_learns_the_same_and_whatever_a_failure_says() -> None:
    def digest(outcome: Outcome, kept: KeptResult | None = None, note: str = "") -> str:
        return result_for_model(MadeCall(outcome, kept, note), None)[1]

    assert digest(Outcome.succeeded(1), note="changed") == digest(Outcome.succeeded(1))
    assert digest(Outcome.failed("E", "at 9")) == digest(Outcome.failed("E", "at 10"))
    different = [
        Outcome.succeeded(1),
        Outcome.succeeded(2),
        Outcome.failed("E", "x"),
        Outcome.failed("F", "x"),
        Outcome.failed("E", "x", 1),
    ]
    assert len({digest(outcome) for outcome in different}) == len(different)
    assert digest(Outcome.succeeded(), LARGE) == LARGE.name
