"""Checks of steps that call an agent, a skill or a tool."""

from dsl.checks.contracts.command_checks import check_command
from dsl.checks.contracts.contract_checks import check_input
from dsl.checks.steps.loop_checks import is_one_template
from dsl.checks.steps.step_scope import StepScope
from dsl.json_schema.argument_schemas import declared_arguments
from dsl.model.capabilities import SkillContract
from dsl.model.steps import ORCHESTRATING, AgentStep, SkillStep, ToolStep
from dsl.model.tools.tool_groups import is_group, tool_groups
from dsl.templates.jsonable import brief
from dsl.templates.template import is_template
from dsl.values import NodePath
from dsl.wording.mcp_wording import group_called
from dsl.wording.step_wording import (
    conversation_without_model,
    fixed_argument,
    no_conversation,
    not_arguments,
)


def check_agent(scope: StepScope, step: AgentStep, path: NodePath) -> None:
    """Check that a conversation has an agent that can hold it."""
    if step.conversation is None:
        for key in ("conversation_turns", "conversation_characters"):
            if getattr(step, key) is not None:
                scope.note("E107", (*path, key), no_conversation(step.name, key))
    elif step.agent_class is not None or step.agent_type == ORCHESTRATING:
        scope.note(
            "E107",
            (*path, "conversation"),
            conversation_without_model(step.name, is_legacy=step.agent_class is not None),
        )


def check_skill(scope: StepScope, step: SkillStep, path: NodePath) -> None:
    """Check that the skill exists and accepts its input."""
    known = scope.capabilities.skills
    if step.skill not in known:
        scope.unknown("E204", "skill", step.skill, known, (*path, "skill"))
    check_command(
        scope.capabilities, scope.problems, scope.tree, step.skill, step.input, (*path, "input")
    )
    contract = known.get(step.skill)
    if contract is not None:
        check_input(scope.tree, scope.problems, contract, step.input, (*path, "input"))


def check_tool(scope: StepScope, step: ToolStep, path: NodePath) -> None:
    """Check that the tool exists and accepts its arguments, unless only the run knows them."""
    place = (*path, "arguments")
    if isinstance(step.arguments, str) and not is_one_template(step.arguments):
        scope.note_value("E103", place, not_arguments(brief(step.arguments)))
    if is_template(step.tool):
        return  # known only in the run
    section = scope.tools.get(step.tool)
    if section is None:
        scope.unknown("E204", "tool", step.tool, scope.tools, (*path, "tool"))
        return
    if is_group(section):
        members = tool_groups(scope.tools)[step.tool]
        scope.note_value("E204", (*path, "tool"), group_called(step.tool, members))
        return
    if isinstance(step.arguments, str):
        return
    for name in step.arguments.keys() & section.fixed.keys():
        place = (*path, "arguments", name)
        scope.note("E213", place, fixed_argument(step.tool, name))
    offered = scope.capabilities
    contract: SkillContract | None = offered.skills.get(section.skill or "")
    if section.mcp is not None:
        contract = offered.mcp_tools.get(section.mcp)
    elif section.skill is None:
        schema = declared_arguments(section.input_schema)
        contract = SkillContract(
            name=step.tool, description="", effect="once", input_schema=schema, output_schema={}
        )
    if contract is not None:
        check_input(
            scope.tree,
            scope.problems,
            contract,
            step.arguments,
            (*path, "arguments"),
            fixed=section.fixed,
        )
