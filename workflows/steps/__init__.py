"""The one dispatch over the kinds of steps; one file for each.

Kinds that hold other steps get the interpreter as an argument, so they need not import it.
"""

from collections.abc import Coroutine
from typing import assert_never

from coterie.dsl.model.outcomes import Outcome
from coterie.dsl.model.step_kinds.wait_step import WaitStep
from coterie.dsl.model.steps import (
    ApprovalStep,
    BlockStep,
    BranchStep,
    FailStep,
    FunctionStep,
    LegacyAgentStep,
    LoopStep,
    ParallelStep,
    PersonaStep,
    ReplyStep,
    ReturnStep,
    SetStep,
    Step,
    TaskGraphStep,
    TeamStep,
    ToolStep,
    TryStep,
)
from coterie.workflows.core.causes.step_causes import WhenAsked
from coterie.workflows.core.location import Interpreter, Location
from coterie.workflows.core.scope import Scope
from coterie.workflows.steps import (
    agent,
    approval,
    block,
    branch,
    fail,
    loop,
    parallel,
    reply,
    return_value,
    set_values,
    skill,
    task_graph,
    team_call,
    tool,
    try_steps,
    wait,
)


def execute(  # noqa: C901  # one case a kind: that is the point
    step: Step,
    when: WhenAsked | None,
    location: Location,
    scope: Scope,
    interpreter: Interpreter,
) -> Coroutine[None, None, Outcome]:
    """Return the work of one step of any kind; an expected failure is an Outcome.

    Args:
        step: The step.
        when: What its `when` found as it held; None without one.
        location: Where the step is.
        scope: The run.
        interpreter: Runs the steps that it holds.
    """
    match step:
        case PersonaStep() | LegacyAgentStep():
            return agent.execute(step, location, scope, interpreter)
        case FunctionStep():
            return skill.execute(step, location, scope)
        case ToolStep():
            return tool.execute(step, location, scope, interpreter)
        case LoopStep():
            return loop.execute(step, location, scope, interpreter)
        case BranchStep():
            return branch.execute(step, location, scope, interpreter)
        case ParallelStep():
            return parallel.execute(step, location, scope, interpreter)
        case TaskGraphStep():
            return task_graph.execute(step, location, scope, interpreter)
        case SetStep():
            return set_values.execute(step, location, scope)
        case ApprovalStep():
            return approval.execute(step, when, location, scope)
        case WaitStep():
            return wait.execute(step, location, scope)
        case ReplyStep():
            return reply.execute(step, location, scope)
        case TeamStep():
            return team_call.execute(step, location, scope, interpreter)
        case TryStep():
            return try_steps.execute(step, location, scope, interpreter)
        case BlockStep():
            return block.execute(step, location, interpreter)
        case ReturnStep():
            return return_value.execute(step, location, scope)
        case FailStep():
            return fail.execute(step, location, scope)
        case _:
            assert_never(step)
