"""A call of a tool."""

from collections.abc import Iterable, Sequence
from typing import ClassVar

from typing_extensions import override

from coterie.dsl.checks.contracts.contract_checks import check_input
from coterie.dsl.checks.steps.list_checks import is_one_template
from coterie.dsl.checks.steps.step_scope import StepScope
from coterie.dsl.errors import listed
from coterie.dsl.json_schema.argument_schemas import declared_arguments
from coterie.dsl.kinds.kind import Kind, StepWords
from coterie.dsl.kinds.skill import check_time
from coterie.dsl.model.capabilities import FunctionContract
from coterie.dsl.model.plan import Plan
from coterie.dsl.model.steps import ToolStep
from coterie.dsl.model.tools.tool_groups import tool_groups
from coterie.dsl.model.tools.tool_section import (
    OneCallSection,
    ServerGroupSection,
    ToolSection,
)
from coterie.dsl.problem_details import ProblemText, rule
from coterie.dsl.templates.jsonable import brief
from coterie.dsl.templates.template import is_template
from coterie.dsl.values import NodePath


@rule("E213")
def fixed_argument(tool: str, argument: str) -> ProblemText:
    return ProblemText(
        f"the tool {tool!r} fixes {argument!r}, so this argument has no effect",
        fix=f"remove {argument!r} here, or from `fixed` of the tool",
    )


@rule("E103")
def not_arguments(shown: str) -> ProblemText:
    return ProblemText(
        f"'arguments' is {shown}",
        'a mapping, or one template for a mapping: `"{{ step.arguments }}"`',
    )


@rule("E204")
def group_called(name: str, members: Sequence[str], made_of: str) -> ProblemText:
    what = "operations of an API" if made_of == "api" else "tools of an MCP server"
    return ProblemText(
        f"{name!r} stands for several {what}, and a step calls one",
        listed(members),
        "name one of these",
    )


class ToolKind(Kind[ToolStep]):
    """A call of a tool."""

    sign = (
        "M10.5 2.5a3.2 3.2 0 0 0-3.8 4.2L2.5 11 5 13.5l4.3-4.2a3.2 3.2 0 0 0 4.2-3.8L11.5 "
        "7.5 9 7 8.5 4.5z"
    )
    beginning = "tool "
    limits: ClassVar = {
        "call_retries": "more attempts of the call, if the tool has as many",
    }

    @override
    def check(self, scope: StepScope, step: ToolStep, path: NodePath) -> None:
        check_tool(scope, step, path)

    @override
    def details(self, step: ToolStep, plan: Plan, words: StepWords) -> Iterable[str]:
        return (words.text(step.tool),)


def check_tool(scope: StepScope, step: ToolStep, path: NodePath) -> None:
    """Check that the tool exists and accepts its arguments, unless only the run knows them."""
    key_path = (*path, "arguments")
    if isinstance(step.arguments, str) and not is_one_template(step.arguments):
        scope.report_value(not_arguments(brief(step.arguments)), key_path)
    if is_template(step.tool):
        return  # known only in the run
    section = scope.tools.get(step.tool)
    if section is None:
        scope.unknown("tool", step.tool, scope.tools, (*path, "tool"))
        return
    if isinstance(section, ServerGroupSection):
        members = tool_groups(scope.tools)[step.tool]
        scope.report_value(group_called(step.tool, members, section.kind), (*path, "tool"))
        return
    if isinstance(step.arguments, str) or scope.problems.has("E103", key_path):
        return
    for name in step.arguments.keys() & section.fixed.keys():
        key_path = (*path, "arguments", name)
        scope.report(fixed_argument(step.tool, name), key_path)
    contract = _contract_of(scope, step.tool, section)
    if contract is None:
        return
    if isinstance(section, OneCallSection):
        check_time(scope, step, step.tool, contract, path)
    check_input(
        scope.tree,
        scope.problems,
        contract,
        step.arguments,
        (*path, "arguments"),
        fixed=section.fixed,
    )


def _contract_of(scope: StepScope, name: str, section: ToolSection) -> FunctionContract | None:
    """Return the contract of what a tool is made of; None if the worker does not have it."""
    if isinstance(section, OneCallSection):
        return scope.capabilities.contract_of(section.kind, section.made_of)
    schema = declared_arguments(section.input_schema)
    return FunctionContract(
        name=name, description="", effect="once", input_schema=schema, output_schema={}
    )
