"""A tool: a skill by the name that the document gives it, chosen now or at run time."""

from dsl.errors import listed, nearest
from dsl.outcomes import Outcome
from dsl.steps import ToolStep
from dsl.templates import fill
from workflows.asking import ask, rejected
from workflows.place import Place
from workflows.scope import Scope
from workflows.skill_calls import call_skill


async def execute(step: ToolStep, place: Place, scope: Scope) -> Outcome:
    """Call the tool; an unknown name is a failure that names the tools there are."""
    names = place.facts(scope).names()
    name = fill(step.tool, names)
    tools = scope.plan.tools
    tool = tools.get(name) if isinstance(name, str) else None
    if tool is None:
        hint = nearest(str(name), tools)
        return Outcome.failed(
            "UnknownTool", f"there is no tool {name!r}; tools: {listed(tools)}. {hint}".rstrip(". ")
        )
    arguments = fill(dict(step.arguments), names)
    given = {**arguments, **tool.fixed} if isinstance(arguments, dict) else arguments
    if tool.requires_approval:
        decision = await ask(scope, place, f"May the tool {name!r} be called?", show=given)
        if decision is None or decision.verdict == "rejected":
            return rejected(decision)
    return await call_skill(tool.skill, given, tool.terms, place, scope, step.timeout)
