"""Checks of the personas that agents use, before their execution plans are resolved."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import NamedTuple

from coterie.dsl.checks.agents.agent_checks import check_fallback
from coterie.dsl.checks.agents.compaction_checks import check_compaction
from coterie.dsl.checks.agents.hook_checks import check_streamed_answers, compiled_hooks, hook_lines
from coterie.dsl.checks.agents.prompt_checks import check_prompts, check_syntax
from coterie.dsl.checks.agents.streaming_checks import check_batch, check_streaming
from coterie.dsl.checks.agents.vendor_checks import check_vendor_rules
from coterie.dsl.checks.contracts.outputs import DeclaredOutputs
from coterie.dsl.checks.format_checks import check_answer_schema
from coterie.dsl.checks.steps.step_scope import OutsideReads, StepScope
from coterie.dsl.checks.tools.code_mode_checks import check_code_mode
from coterie.dsl.checks.tools.tool_use_checks import check_tool_use
from coterie.dsl.compile.merged_personas import PERSONAS, MergedPersona
from coterie.dsl.compile.step_checks import check_steps
from coterie.dsl.model.capabilities import Capabilities
from coterie.dsl.model.document import SystemDocument
from coterie.dsl.model.hooks import Hook, HookSection
from coterie.dsl.model.plan import Persona
from coterie.dsl.model.step_kinds.agent_types import ORCHESTRATING, SINGLE_SHOT
from coterie.dsl.model.steps import PersonaStep, Step
from coterie.dsl.problem_details import ProblemText, rule
from coterie.dsl.problem_texts import called
from coterie.dsl.source.collected_problems import Problems
from coterie.dsl.source.nodes import Node
from coterie.dsl.values import Json, NodePath

_RUN_HOOKS: NodePath = ("orchestration", "hooks")


class UsablePersona(NamedTuple):
    """A persona without a problem that keeps an agent from using it."""

    persona: Persona
    plan: StepScope | None = None
    """The checked steps of its execution plan, if the agent follows it."""


@dataclass(frozen=True)
class PersonaChecks:
    """Checks the personas of one document."""

    document: SystemDocument
    tree: Node
    problems: Problems
    capabilities: Capabilities
    task_names: Mapping[str, Sequence[str]]
    """`{team: the names of its tasks}`."""
    outputs: DeclaredOutputs
    settings: Json
    tool_reads: OutsideReads = field(default_factory=OutsideReads)
    """What the agents of tools read."""
    _plans: dict[tuple[NodePath, tuple[str, ...] | None], StepScope] = field(
        default_factory=dict[tuple[NodePath, tuple[str, ...] | None], StepScope]
    )
    """`{(where a plan is written, the names of its inputs): its scope}`, checked."""

    @cached_property
    def _agent_tools(self) -> frozenset[str]:
        """The tools that are made of agents."""
        tools = self.document.tools.items()
        return frozenset(name for name, tool in tools if tool.kind == "agent")

    def checked(
        self,
        step: PersonaStep,
        merged: MergedPersona,
        path: NodePath,
        scope: StepScope,
        reads: OutsideReads,
        *,
        is_open: bool,
    ) -> UsablePersona | None:
        """Check the persona of an agent step; None if agent type and plan disagree.

        Args:
            step: names the persona.
            merged: the persona with the step's `config`.
            path: where the step is written.
            scope: of the step.
            reads: collects what the agent reads.
            is_open: whether an enclosing step already follows the persona's plan.
        """
        persona, written_at = merged.persona, partial(self._written_at, merged)
        tree, problems = self.tree, self.problems
        check_answer_schema(persona.output_schema, written_at("output_schema"), tree, problems)
        follows = step.agent_type == ORCHESTRATING
        if follows:
            syntax = persona.prompt_syntax
            check_syntax(
                tree, problems, persona.prompts, syntax, lambda key: written_at("prompts", key)
            )
        if not _plan_fits(step, persona, path, merged.named_at, is_open, tree, problems):
            return None
        if follows and persona.execution_plan is not None:
            if persona.hooks:  # they are for the tasks that ask this persona
                persona = persona.model_copy(update={"hooks": ()})
            return UsablePersona(persona, self._checked_plan(step, persona, written_at))
        return UsablePersona(self._checked_calls(step, merged, path, scope, reads))

    def _written_at(self, merged: MergedPersona, *keys: str) -> NodePath:
        """Return where a field is written: in the step's `config`, or else in the persona."""
        own = (*PERSONAS, merged.key, *keys)
        if merged.config is None:
            return own
        config_path = (*merged.config, *keys)
        return config_path if self.tree.has(config_path) else own

    def _checked_calls(
        self,
        step: PersonaStep,
        merged: MergedPersona,
        path: NodePath,
        scope: StepScope,
        reads: OutsideReads,
    ) -> Persona:
        """Check the persona of an agent that makes its own model calls; compile its hooks."""
        persona, written_at = merged.persona, partial(self._written_at, merged)
        tree, problems, providers = self.tree, self.problems, self.capabilities.providers
        if persona.tools and self._calls_agents(persona):
            reads.add(self.tool_reads)
        check_tool_use(step, persona, path, written_at, tree, problems)
        if persona.code_mode is not False:
            check_code_mode(step, persona, self.document.tools, written_at, tree, problems)
        if persona.fallback:
            check_fallback(persona, providers, written_at("fallback"), tree, problems)
        if persona.compaction is not None:
            where = written_at("compaction")
            check_compaction(step, persona, providers, path, where, tree, problems)
        sections = self.document.llm_config.providers
        check_vendor_rules(step, persona, sections, written_at, tree, problems)
        if persona.hooks:
            persona = self._check_hooks(persona, merged, reads)
        if persona.stream or persona.batch:
            check_streaming(step, persona, path, written_at("stream"), tree, problems)
            check_batch(step, persona, sections, written_at("batch"), tree, problems)
        reads.add(check_prompts(scope, step, persona, path, written_at))
        return persona

    def _checked_plan(
        self, step: PersonaStep, persona: Persona, written_at: Callable[[str], NodePath]
    ) -> StepScope:
        """Check an execution plan once for all agents that follow it with the same inputs."""
        inputs = tuple(step.input) if isinstance(step.input, dict) else None
        input_names = inputs if step.input is not None else ()
        key = (written_at("execution_plan"), input_names)
        if key not in self._plans:
            self._plans[key] = self.plan_scope(persona.execution_plan or (), *key)
            check_steps(self._plans[key])
        return self._plans[key]

    def _calls_agents(self, persona: Persona) -> bool:
        return not self._agent_tools.isdisjoint(persona.tools)

    def _check_hooks(self, persona: Persona, merged: MergedPersona, reads: OutsideReads) -> Persona:
        """Return the persona with its hooks checked."""
        path = self._written_at(merged, "hooks")
        scope = self.plan_scope((), path)
        orchestration = self.document.orchestration
        of_run = () if orchestration is None else orchestration.hooks
        run_hook_lines = hook_lines(of_run, _RUN_HOOKS, self.tree)
        hooks = compiled_hooks(
            persona.hooks,
            path,
            scope,
            self.document.tools,
            persona.tools,
            merged.key,
            run_hook_lines,
        )
        if persona.stream:
            check_streamed_answers(hooks, path, self.tree, self.problems)
        reads.add(scope.reads)
        return persona.model_copy(update={"hooks": hooks})

    def run_hooks(
        self, hooks: Sequence[HookSection], personas: Mapping[str, Persona]
    ) -> tuple[Hook, ...]:
        """Check the hooks of the whole document, when all its personas are known."""
        path, tools = _RUN_HOOKS, self.document.tools
        compiled = compiled_hooks(hooks, path, self.plan_scope((), path), tools, None)
        if any(persona.stream for persona in personas.values()):
            check_streamed_answers(compiled, path, self.tree, self.problems)
        return compiled

    def plan_scope(
        self, plan: Sequence[Step], path: NodePath, inputs: Collection[str] | None = None
    ) -> StepScope:
        """Return the scope of an execution plan; `inputs` are None if they are not known."""
        return StepScope(
            self.tree,
            self.problems,
            self.capabilities,
            self.task_names,
            plan,
            path,
            inputs=inputs,
            tools=self.document.tools,
            outputs=self.outputs.of(plan),
            settings=self.settings,
        )


@rule("E503")
def plan_not_followed(persona: str) -> ProblemText:
    return ProblemText(
        f"the persona {persona!r} has an execution_plan, and a generic_single_shot agent never "
        "follows one",
        fix="use `agent_type: generic_orchestrating`",
    )


@rule("E503")
def plan_missing(persona: str, step: str) -> ProblemText:
    return ProblemText(
        f"the persona {persona!r} has no execution_plan, and {called(step, 'the task')} needs one",
        fix="add `execution_plan:`, or use `agent_type: generic_single_shot`",
    )


@rule("E503")
def plan_within_itself(persona: str) -> ProblemText:
    return ProblemText(
        f"the execution_plan of {persona!r} contains itself",
        fix="let its agent steps use other personas",
    )


def _plan_fits(
    step: PersonaStep,
    persona: Persona,
    path: NodePath,
    named_at: NodePath,
    is_open: bool,
    tree: Node,
    problems: Problems,
) -> bool:
    """Return whether the agent follows the plan of its persona; note a problem if they disagree.

    Args:
        step: the agent step.
        persona: with the step's `config` merged in.
        path: where the step is written.
        named_at: where it names the persona.
        is_open: whether an enclosing step is already resolving this plan.
        tree: the document.
        problems: collects the findings.
    """
    key = step.persona_key
    if step.agent_type != ORCHESTRATING:
        if not persona.execution_plan or step.agent_type != SINGLE_SHOT:
            return True
        where = (*path, "agent_type")
        problems.report(plan_not_followed(key), tree.value_at(where))
        return False
    if persona.execution_plan is None:
        spot: NodePath = ("llm_config", "personas", key)
        problems.report(plan_missing(key, step.name), tree.key_at(spot))
        return False
    if is_open:
        problems.report(plan_within_itself(key), tree.value_at(named_at))
    return not is_open
