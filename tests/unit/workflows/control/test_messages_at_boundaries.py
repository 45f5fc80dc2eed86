"""Where amendments and redirections that arrive in the middle of a run apply, or come too late."""

import pytest

from coterie.activities.contracts import AgentRequest, FunctionRequest
from coterie.dsl.values import Json
from coterie.workflows.core.causes.people_causes import TooLate
from coterie.workflows.core.messages import AmendInput, RedirectInput
from coterie.workflows.core.results import RunFailed
from coterie.workflows.interpreter import run
from tests.support.compiling import plan_of
from tests.support.one_team import agent, document
from tests.support.simulation.stopping import StoppingScope, World, fresh

OTHER = "other: {tasks: [{name: note, type: set, values: {n: 1}}]}\n"


async def test_messages_come_too_late_for_a_run_that_ends_in_the_middle_of_a_team() -> None:
    text = document(f"- {agent('one')}\n- {agent('two')}\n", OTHER)
    plan = plan_of(text.replace("  entry_team:", "  budgets: {model_calls: 1}\n  entry_team:"))
    state = fresh(plan, {})

    def answer(request: AgentRequest | FunctionRequest) -> Json:
        state.amendments.append(AmendInput(updates={"x": 1}, by="ann"))
        state.redirect = RedirectInput(team="other", by="bob")
        return {}

    with pytest.raises(RunFailed, match="budget"):
        await run(StoppingScope(plan, state, World(answer), None))
    late = [one.cause.asked.by for one in state.trail if isinstance(one.cause, TooLate)]
    assert late == ["ann", "bob"]
    assert (state.amendments, state.redirect, state.main.context) == ([], None, {})


async def test_a_redirection_waits_for_the_team_that_a_step_calls() -> None:
    called = "sub: {tasks: [{name: note, type: set, values: {n: 1}}]}\n"
    plan = plan_of(
        document(f"- {agent('one')}\n- {{name: call, type: team, team: sub}}\n", OTHER + called)
    )
    state = fresh(plan, {})

    def answer(request: AgentRequest | FunctionRequest) -> Json:
        state.redirect = RedirectInput(team="other", by="ann")
        return {}

    result = await run(StoppingScope(plan, state, World(answer), None))
    assert result.visits == {"work": 1, "sub": 1, "other": 1}
    assert state.redirect is None
