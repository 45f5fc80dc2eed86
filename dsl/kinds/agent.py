"""An agent: a persona, or a legacy class."""

from collections.abc import Iterable, Iterator, Sequence
from typing import ClassVar

from typing_extensions import override

from coterie.dsl.checks.steps.step_scope import StepScope
from coterie.dsl.evaluate.conversation_names import MAX_CONVERSATION_NAME, name_of_conversation
from coterie.dsl.json_schema.schema_parts import NOT_EMPTY, has
from coterie.dsl.kinds.kind import Kind, StepWords
from coterie.dsl.model.plan import Persona, Plan
from coterie.dsl.model.step_kinds.agent_step import AnyAgent
from coterie.dsl.model.step_kinds.agent_types import ORCHESTRATING, SINGLE_SHOT, TOOL_CALLING
from coterie.dsl.model.step_kinds.step_base import StepBase
from coterie.dsl.model.steps import LegacyAgentStep, PersonaStep
from coterie.dsl.model.traversal.agent_personas import execution_plans
from coterie.dsl.model.traversal.step_walk import walk
from coterie.dsl.problem_details import Details, ProblemText, rule
from coterie.dsl.problem_texts import called
from coterie.dsl.source.nodes import Node
from coterie.dsl.templates.template import is_template
from coterie.dsl.values import UNREADABLE, Json, NodePath


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


class AgentKind(Kind[AnyAgent]):
    """An agent: a persona, or a legacy class."""

    sign = (
        "M3.5 2.5h9a1 1 0 0 1 1 1v6a1 1 0 0 1-1 1h-4L5 13.5v-3H3.5a1 1 0 0 1-1-1v-6a1 1 0 0 1 1-1z"
    )
    beginning = "agent "
    limits: ClassVar = {
        "max_turns": "model turns with tools",
    }
    key_rules: ClassVar[Sequence[Json]] = [
        {
            "if": {
                **has("persona_key"),
                "properties": {"persona_key": {"type": "string", "pattern": r"\{\{"}},
            },
            "then": {**has("personas"), "properties": {"personas": NOT_EMPTY}},
            "else": {"properties": {"personas": {"maxItems": 0}}},
        },
    ]

    @override
    def rules_of(self, model: type[StepBase]) -> Sequence[Json]:
        return self.key_rules if model is PersonaStep else []

    @override
    def check(self, scope: StepScope, step: AnyAgent, path: NodePath) -> None:
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

    @override
    def details(self, step: AnyAgent, plan: Plan, words: StepWords) -> Iterable[str]:
        if isinstance(step, LegacyAgentStep):
            yield words.agent_class(step.agent_class)
            yield "legacy class"
        else:
            yield " or ".join(step.persona_names)
            if step.personas:
                yield f"chosen by {words.value(step.persona_key)}"
            yield from _personas(step, plan, words)
        if step.conversation is not None:
            yield f"in the conversation {step.conversation}"
        if step.max_turns is not None:
            bound = words.counted_bound(step.max_turns, "turn with tools", "turns with tools")
            yield f"at most {bound}"


@rule("E107")
def two_forms_of_agent(step: str) -> ProblemText:
    return ProblemText(
        f"{called(step, 'the task')} has both agent_class and agent_type or persona_key",
        fix="keep `agent_type` and `persona_key`; `agent_class` is the older form",
    )


@rule("E108")
def config_of_legacy(step: str) -> ProblemText:
    return ProblemText(
        "`config` overrides a persona, and a legacy agent has none",
        fix=f"write it under llm_config.agents.{step}",
    )


def wrong_agent_key(step: Node, key: str) -> Details:
    """Return the problem of a key that only an agent with a persona has, beside `agent_class`."""
    value = step.find(("name",)).value
    name = value if isinstance(value, str) else UNREADABLE
    return config_of_legacy(name) if key == "config" else two_forms_of_agent(name)


def _personas(step: PersonaStep, plan: Plan, words: StepWords) -> Iterator[str]:
    """Yield what the personas of an agent do: their plans, or the models that they call."""
    if step.agent_type == ORCHESTRATING:
        sizes = [
            words.counted(sum(1 for _ in walk(steps, ())), "step")
            for _, steps in execution_plans(step, plan.personas)
        ]
        yield f"plan of {' or '.join(sizes)}"
        return
    personas = [plan.personas[choice.persona_key] for choice in step.choices]
    yield " or ".join(dict.fromkeys(f"{persona.provider}/{persona.model}" for persona in personas))
    if step.agent_type not in (None, SINGLE_SHOT):
        yield step.agent_type
    if step.agent_type == TOOL_CALLING:
        yield from _tools(personas)


def _tools(personas: Sequence[Persona]) -> Iterator[str]:
    """Yield the tools that agents may call, and the teams to which they may hand over."""
    tools = tuple(dict.fromkeys(name for persona in personas for name in persona.tools))
    if tools:
        yield f"may call {some_tools(tools)}"
    skills = tuple(dict.fromkeys(name for persona in personas for name in persona.agent_skills))
    if skills:
        yield f"has the skills {some_tools(skills)}"
    teams = dict.fromkeys(name for persona in personas for name in persona.handoffs)
    if teams:
        yield f"may hand over to {', '.join(teams)}"


_MAX_TOOLS = 8
"""Names of tools that an agent's line shows."""


def some_tools(tools: Sequence[str]) -> str:
    """List the first few names, and count the others."""
    more = len(tools) - _MAX_TOOLS
    return ", ".join(tools[:_MAX_TOOLS]) + (f" and {more} more" if more > 0 else "")
