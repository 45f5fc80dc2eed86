"""What a `try` step gives and notes when it catches a failure, and when its catch fails too."""

import pytest

from coterie.dsl.errors import BudgetExceeded
from coterie.dsl.model.budgets import Budget
from coterie.dsl.model.outcomes import Failure
from coterie.dsl.values import Json, JsonValue
from coterie.workflows.core.causes.step_causes import Failed
from coterie.workflows.core.results import RunFailed
from coterie.workflows.core.scope import Interrupted
from coterie.workflows.core.state import RunState
from coterie.workflows.interpreter import run
from tests.support.one_team import agent, work
from tests.support.simulation.stopping import StoppingScope, World, carried, fresh

TEXT = """
- name: careful
  type: try
  on_failure: continue
  steps: [{name: broken, type: fail, error: Broken, message: "no"}]
  catch:
    - {error: Other, steps: [{name: other, type: set, values: {n: 1}}]}
    - {error: Broken, steps: [ASK, CATCH]}
- {name: end, type: return, value: "{{ [tasks.careful.data, tasks.careful.error.type
   if tasks.careful.error else none, tasks.other.status] }}"}
"""
CAUGHT: Json = {"type": "Broken", "message": "no", "step": "broken"}


async def ended(text: str, *, everywhere: bool) -> tuple[JsonValue, RunState]:
    plan, world = work(text), World(lambda _: {"n": 1})
    state = fresh(plan, {})
    while True:
        try:
            result = await run(StoppingScope(plan, state, world, 1 if everywhere else None))
        except Interrupted:
            state = carried(state)
        else:
            assert isinstance(result.output, dict)
            return result.output["end"], state


@pytest.mark.parametrize("everywhere", [False, True])
@pytest.mark.parametrize(
    ("last", "gives"),
    [
        (
            "{name: mend, type: set, values: {done: '{{ error.step }}'}}",
            [{"caught": CAUGHT, "data": {"done": "broken"}}, None, "skipped"],
        ),
        ("{name: mend, type: fail, error: Worse, message: no}", [None, "Worse", "skipped"]),
    ],
    ids=["mended", "fails again"],
)
async def test_a_caught_failure_is_noted_and_its_clause_decides_how_the_step_ends(
    last: str, gives: JsonValue, everywhere: bool
) -> None:
    text = TEXT.replace("ASK", agent("ask")).replace("CATCH", last)
    found, state = await ended(text, everywhere=everywhere)
    assert found == gives
    caught = [(one.step, one.cause) for one in state.trail if one.status == "caught"]
    assert caught == [("careful", Failed("failed", Failure("Broken", "no")))]


async def test_last_steps_that_end_the_run_are_no_cancellation() -> None:
    text = f"- {{name: careful, type: try, steps: [{agent('a')}], finally: [{agent('b')}]}}"
    plan, calls = work(text), 1
    bounded = plan.model_copy(
        update={"budgets": (Budget(kind="model_calls", limit=calls),)}
    ).with_digest()
    state, world = fresh(bounded, {}), World(lambda _: {"n": 1})
    with pytest.raises(RunFailed) as failed:
        await run(StoppingScope(bounded, state, world, None))
    assert failed.value.type == BudgetExceeded.__name__
    assert (len(world.calls), state.stop_by) == (calls, None)
