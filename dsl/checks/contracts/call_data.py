"""What the data of an agent or of a called tool is: its own answer, or what others make of it."""

from collections.abc import Mapping

from coterie.dsl.hooks.hook_reads import matches_tool
from coterie.dsl.model.document import SystemDocument
from coterie.dsl.model.merge import deep_merge
from coterie.dsl.model.step_kinds.agent_types import default_agent_type, offered_tools
from coterie.dsl.model.steps import AgentStep, PersonaDocument, SkillStep
from coterie.dsl.model.terms import CallApproval
from coterie.dsl.model.tools.tool_section import AgentToolSection, ToolSection
from coterie.dsl.templates.template import is_template
from coterie.dsl.values import Json


def is_edited(called: AgentStep | SkillStep | ToolSection) -> bool:
    """Return whether a person may replace its output."""
    asked = called.requires_approval
    return isinstance(asked, CallApproval) and asked.at == "after" and asked.editable


def is_modified(tool: str, document: SystemDocument) -> bool:
    """Return whether a hook of the run may change the result of a tool that a step calls."""
    orchestration = document.orchestration
    return any(
        hook.on == "after_tool_call"
        and (hook.decide == "modify" or is_template(hook.decide))
        and (hook.tool is None or matches_tool(hook.tool, tool))
        for hook in (() if orchestration is None else orchestration.hooks)
    )


def agent_of_tool(
    name: str, section: AgentToolSection, personas: Mapping[str, PersonaDocument]
) -> AgentStep | None:
    """Return the step that a tool made of an agent is like; None if a handoff may replace it."""
    persona = personas.get(section.agent)
    if persona is None or persona.handoffs:
        return None
    tools, subagents, excluded = persona.tools, persona.subagents, persona.exclude_tools
    agent_type = default_agent_type(
        has_plan=persona.execution_plan is not None,
        offers_tools=bool(offered_tools(tools or (), subagents or (), excluded or ())),
    )
    return AgentStep(name=name, agent_type=agent_type, persona_key=section.agent)


def answer_schema(step: AgentStep, persona: PersonaDocument) -> Json | None:
    """Return the schema of the persona's answers, with the step's `config`."""
    schema = persona.output_schema
    if step.config is not None and "output_schema" in step.config.model_fields_set:
        over = step.config.output_schema
        return deep_merge(schema or {}, over) if over is not None else None
    return schema


def is_own_answer(step: AgentStep, persona: PersonaDocument) -> bool:
    """Return whether the data of a tool-calling agent is always its own answer."""
    over = step.config
    policies = persona.tool_policy if over is None or over.tool_policy is None else over.tool_policy
    calls = persona.tool_calls if over is None or over.tool_calls is None else over.tool_calls
    return calls != "return" and not any(one.exit_on_success for one in policies or ())
