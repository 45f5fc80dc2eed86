"""The tool functions that the runs of a plan may call."""

from collections.abc import Iterator

from coterie.dsl.model.hooks import Hook
from coterie.dsl.model.plan import Plan
from coterie.dsl.model.steps import FunctionStep
from coterie.dsl.model.tools.tool_contract import FunctionTool
from coterie.dsl.model.traversal.callable_tools import tools_of
from coterie.dsl.model.traversal.step_walk import lists_of_plan, walk


def used_functions(plan: Plan) -> frozenset[str]:
    """Return the tool functions of all steps, hooks, and tools that a step or a model may call."""
    return frozenset(_functions(plan))


def _functions(plan: Plan) -> Iterator[str]:
    for steps in lists_of_plan(plan):
        for step, _ in walk(steps, ()):
            if isinstance(step, FunctionStep):
                yield step.skill
            step_tools = (tool for _, tool in tools_of(step, plan))
            yield from (tool.skill for tool in step_tools if isinstance(tool, FunctionTool))
    for persona in plan.personas.values():
        persona_tools = (plan.tools[name] for name in persona.tools if name in plan.tools)
        yield from (tool.skill for tool in persona_tools if isinstance(tool, FunctionTool))
        yield from _of_hooks(persona.hooks)
    yield from _of_hooks(plan.hooks)


def _of_hooks(hooks: tuple[Hook, ...]) -> Iterator[str]:
    yield from (hook.skill for hook in hooks if hook.skill is not None)
