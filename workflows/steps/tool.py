"""A tool: a skill under the name that the document gives it, chosen now or at run time."""

from pydantic import JsonValue

from dsl.errors import InvalidPlan, listed, nearest
from dsl.json_values import describe_kind
from dsl.model.outcomes import Outcome
from dsl.model.steps import ToolStep
from dsl.model.terms import consent
from dsl.templates.template_filling import fill
from workflows.agents.skill_calls import call_skill
from workflows.approvals.output_approval import ApprovalSubject, with_consent
from workflows.core.location import Location
from workflows.core.scope import Scope


async def execute(step: ToolStep, place: Location, scope: Scope) -> Outcome:
    """Call the tool; an unknown name is a failure that lists the tools."""
    names = place.facts(scope).names()
    name = fill(step.tool, names)
    tools = scope.plan.tools
    tool = tools.get(name) if isinstance(name, str) else None
    if tool is None:
        hint = nearest(str(name), tools)
        return Outcome.failed(
            "UnknownTool", f"there is no tool {name!r}; tools: {listed(tools)}. {hint}".rstrip(". ")
        )
    arguments = fill(step.arguments, names)
    if not isinstance(arguments, dict):
        return Outcome.failed(
            "InvalidArguments",
            f"the arguments of the tool {name!r} are {describe_kind(arguments)}, not a mapping",
        )
    given = {**arguments, **tool.fixed}
    skill = tool.skill
    if skill is None:
        raise InvalidPlan(f"the step {step.name!r} calls the tool {name!r}, which is no skill")
    terms = consent(tool.requires_approval)
    if terms is None:
        return await call_skill(skill, given, tool.terms, place, scope, step.timeout)

    async def work(allowed: JsonValue) -> Outcome:
        return await call_skill(skill, allowed, tool.terms, place, scope, step.timeout)

    subject = ApprovalSubject(
        given=given,
        allow=f"May the tool {name!r} be called?",
        accept=f"Is the result of the tool {name!r} accepted?",
        literal=True,
    )
    return await with_consent(terms, subject, place, scope, work)
