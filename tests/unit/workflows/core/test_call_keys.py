"""The key of a call stays the same wherever its run continues, and no other execution has it."""

from collections.abc import Callable

import pytest

from coterie.activities.contracts import (
    AgentRequest,
    AgentResponse,
    FunctionRequest,
    FunctionResult,
)
from coterie.dsl.model.plan import Plan
from tests.support.engine import plan_of
from tests.support.simulation.simulated_server import SimulatedServer, Task, never
from tests.support.simulation.suggested_plans import HEAD
from tests.support.simulation.suggested_runs import answer

CALLS = {
    "a call of a step": "{ name: looked, type: tool, tool: look }",
    "a call of a plan": "{ name: own, agent_type: generic_orchestrating, persona_key: planned }",
    "a call of a model": "{ name: finds, persona_key: finder }",
    "a call of an agent's own code": "{ name: coded, agent_type: 'a.b:c', persona_key: writer, "
    "input: a }",
}
"""`{what makes a call: a step that does}`."""


def keys(
    plan: Plan, suggests: Callable[[Task], bool] = never, execution: str = "first"
) -> list[str]:
    """Return the keys of the calls of a run; of own code, what they consist of."""
    seen: list[str] = []

    def answered(
        request: AgentRequest | FunctionRequest,
    ) -> tuple[float, AgentResponse | FunctionResult]:
        if isinstance(request, FunctionRequest):
            seen.append(request.key)
        elif request.execution:
            seen.append(f"test/{request.execution}/{request.task}")
        return answer(request)

    lived = SimulatedServer(answered, suggests=suggests).run(plan, execution=execution)
    assert not lived.failure
    assert len(lived.tasks) > 1 or suggests is never, "the run continued as new"
    return seen


@pytest.mark.parametrize("call", CALLS)
def test_the_key_of_a_call_belongs_to_the_execution_in_which_its_run_began(call: str) -> None:
    before = "{ name: rest, type: wait, duration: 1h }"
    plan = plan_of(f"{HEAD}    work: {{ tasks: [{before}, {CALLS[call]}] }}\n")
    alone = keys(plan)
    assert alone
    for full in (1, 2):
        assert keys(plan, lambda task, full=full: task.part == 1 and task.number >= full) == alone
    assert keys(plan, execution="first") == alone, "a reset keeps the id of the execution"
    later = keys(plan, execution="later")
    assert later == [key.replace("test/first/", "test/later/") for key in alone]
    assert set(later).isdisjoint(alone)
