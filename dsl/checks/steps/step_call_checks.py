"""Checks of steps that call an agent, a skill or a tool."""

from collections.abc import Sequence

from coterie.dsl.checks.contracts.command_checks import check_command
from coterie.dsl.checks.contracts.contract_checks import check_input
from coterie.dsl.checks.steps.list_checks import is_one_template
from coterie.dsl.checks.steps.step_scope import StepScope
from coterie.dsl.errors import listed
from coterie.dsl.evaluate.conversation_names import MAX_CONVERSATION_NAME, name_of_conversation
from coterie.dsl.json_schema.argument_schemas import declared_arguments
from coterie.dsl.model.capabilities import SkillContract
from coterie.dsl.model.step_kinds.agent_step import AgentStep
from coterie.dsl.model.step_kinds.agent_types import ORCHESTRATING
from coterie.dsl.model.steps import PersonaStep, SkillStep, ToolStep
from coterie.dsl.model.tools.tool_groups import tool_groups
from coterie.dsl.model.tools.tool_section import McpGroupSection, OneCallSection, ToolSection
from coterie.dsl.problem_details import ProblemText, rule
from coterie.dsl.problem_texts import called
from coterie.dsl.templates.jsonable import brief
from coterie.dsl.templates.template import is_template
from coterie.dsl.values import MAX_CALL_SECONDS, NodePath


@rule("E107")
def no_conversation(step: str, key: str) -> ProblemText:
    return ProblemText(
        f"{called(step)} limits the earlier turns of a conversation and has no `conversation`",
        fix=f"add `conversation: <name>`, or remove `{key}`",
    )


@rule("E106")
def conversation_name_too_long(step: str, maximum: int) -> ProblemText:
    return ProblemText(
        f"the name of the conversation of {called(step)} is too long",
        f"a text of 1 to {maximum} characters",
    )


@rule("E107")
def conversation_without_model(step: str, *, is_legacy: bool) -> ProblemText:
    what = "a legacy agent" if is_legacy else "an agent that follows a plan"
    return ProblemText(
        f"{called(step)} is {what}, which cannot continue a conversation",
        fix="move `conversation:` to an agent of type generic_single_shot or generic_tool_calling",
    )


def check_agent(scope: StepScope, step: AgentStep, path: NodePath) -> None:
    """Check that a conversation has an agent that can hold it."""
    if step.conversation is None:
        for key in ("conversation_turns", "conversation_characters"):
            if getattr(step, key) is not None:
                scope.report(no_conversation(step.name, key), (*path, key))
    elif not isinstance(step, PersonaStep) or step.agent_type == ORCHESTRATING:
        is_legacy = not isinstance(step, PersonaStep)
        details = conversation_without_model(step.name, is_legacy=is_legacy)
        scope.report(details, (*path, "conversation"))
    elif not is_template(step.conversation) and name_of_conversation(step.conversation) is None:
        details = conversation_name_too_long(step.name, MAX_CONVERSATION_NAME)
        scope.report_value(details, (*path, "conversation"))


def check_skill(scope: StepScope, step: SkillStep, path: NodePath) -> None:
    """Check that the skill exists and accepts its input."""
    known = scope.capabilities.skills
    if step.skill not in known:
        scope.unknown("skill", step.skill, known, (*path, "skill"))
    check_command(
        scope.capabilities, scope.problems, scope.tree, step.skill, step.input, (*path, "input")
    )
    contract = known.get(step.skill)
    if contract is not None:
        _check_time(scope, step, step.skill, contract, path)
        check_input(scope.tree, scope.problems, contract, step.input, (*path, "input"))


@rule("E106")
def call_too_long(name: str, seconds: float, maximum: float) -> ProblemText:
    return ProblemText(
        f"a call of {name!r} may take {seconds:g} s, and this kind of tool at most {maximum:g} s: "
        "only commands and Python tools continue longer, in a process of their own",
        fix="shorten `timeout`; an MCP server continues a long call as a task, which takes as long "
        "as it needs",
    )


def _check_time(
    scope: StepScope,
    step: SkillStep | ToolStep,
    name: str,
    contract: SkillContract,
    path: NodePath,
) -> None:
    """Check that a call which may take long continues without its worker."""
    seconds = step.timeout
    if not isinstance(seconds, int | float) or contract.continues_long:
        return
    if seconds > MAX_CALL_SECONDS:
        scope.report(call_too_long(name, seconds, MAX_CALL_SECONDS), (*path, "timeout"))


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
def group_called(name: str, members: Sequence[str]) -> ProblemText:
    return ProblemText(
        f"{name!r} stands for several tools of an MCP server, and a step calls one",
        listed(members),
        "name one of these",
    )


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
    if isinstance(section, McpGroupSection):
        members = tool_groups(scope.tools)[step.tool]
        scope.report_value(group_called(step.tool, members), (*path, "tool"))
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
        _check_time(scope, step, step.tool, contract, path)
    check_input(
        scope.tree,
        scope.problems,
        contract,
        step.arguments,
        (*path, "arguments"),
        fixed=section.fixed,
    )


def _contract_of(scope: StepScope, name: str, section: ToolSection) -> SkillContract | None:
    """Return the contract of what a tool is made of; None if the worker does not have it."""
    if isinstance(section, OneCallSection):
        return scope.capabilities.contract_of(section.kind, section.made_of)
    schema = declared_arguments(section.input_schema)
    return SkillContract(
        name=name, description="", effect="once", input_schema=schema, output_schema={}
    )
