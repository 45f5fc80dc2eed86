"""The one dispatch over the kinds of steps; one file for each.

Kinds that hold other steps get the interpreter as an argument, so they need not import it.
"""

from typing import assert_never

from dsl.model.outcomes import Outcome
from dsl.model.steps import (
    AgentStep,
    ApprovalStep,
    BlockStep,
    BranchStep,
    FailStep,
    LoopStep,
    ParallelStep,
    ReplyStep,
    ReturnStep,
    SetStep,
    SkillStep,
    Step,
    TaskGraphStep,
    TeamStep,
    ToolStep,
    TryStep,
    WaitStep,
)
from workflows.core.location import Interpreter, Location
from workflows.core.scope import Scope
from workflows.steps import (
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


async def execute(  # noqa: C901  # one case a kind: that is the point
    step: Step, place: Location, scope: Scope, interpreter: Interpreter
) -> Outcome:
    """Run one step of any kind; an expected failure is an Outcome."""
    match step:
        case AgentStep():
            return await agent.execute(step, place, scope, interpreter)
        case SkillStep():
            return await skill.execute(step, place, scope)
        case ToolStep():
            return await tool.execute(step, place, scope, interpreter)
        case LoopStep():
            return await loop.execute(step, place, scope, interpreter)
        case BranchStep():
            return await branch.execute(step, place, scope, interpreter)
        case ParallelStep():
            return await parallel.execute(step, place, scope, interpreter)
        case TaskGraphStep():
            return await task_graph.execute(step, place, scope, interpreter)
        case SetStep():
            return await set_values.execute(step, place, scope)
        case ApprovalStep():
            return await approval.execute(step, place, scope)
        case WaitStep():
            return await wait.execute(step, place, scope)
        case ReplyStep():
            return await reply.execute(step, place, scope)
        case TeamStep():
            return await team_call.execute(step, place, scope, interpreter)
        case TryStep():
            return await try_steps.execute(step, place, scope, interpreter)
        case BlockStep():
            return await block.execute(step, place, interpreter)
        case ReturnStep():
            return await return_value.execute(step, place, scope)
        case FailStep():
            return await fail.execute(step, place, scope)
        case _:
            assert_never(step)
