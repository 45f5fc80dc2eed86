"""Agents of a plan: their personas checked and their execution plans resolved.

The result is a snapshot that needs nothing else of the document.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from dsl.checks.agents.agent_checks import (
    check_agent_keys,
    check_fallback,
    check_legacy,
    check_written_model,
    plan_fits,
)
from dsl.checks.agents.compaction_checks import check_compaction
from dsl.checks.agents.consent_checks import checked_by, of_contract
from dsl.checks.agents.hook_checks import check_streamed_answers, compiled_hooks, hook_lines
from dsl.checks.agents.prompt_checks import check_prompts, check_syntax
from dsl.checks.agents.streaming_checks import check_batch, check_reasks, check_streaming
from dsl.checks.contracts.outputs import DeclaredOutputs
from dsl.checks.format_checks import check_answer_schema
from dsl.checks.steps.bound_checks import with_maxima
from dsl.checks.steps.step_checks import check_steps
from dsl.checks.steps.step_scope import StepScope
from dsl.checks.tools.tool_use_checks import check_tool_use
from dsl.compile.loop_policy import compiled_loop
from dsl.compile.merged_personas import PERSONAS, MergedPersona, PersonaMerger
from dsl.compile.models import PersonaModels
from dsl.model.budgets import Budgets
from dsl.model.capabilities import Capabilities
from dsl.model.document import SystemDocument
from dsl.model.hooks import Hook, HookSection
from dsl.model.plan import Persona
from dsl.model.step_kinds.step_base import SkillTerms
from dsl.model.steps import (
    ORCHESTRATING,
    SINGLE_SHOT,
    TOOL_CALLING,
    AgentStep,
    LoopStep,
    PersonaDocument,
    SkillStep,
    Step,
)
from dsl.model.terms import Approval, Consent
from dsl.model.tools.tool_groups import tool_groups
from dsl.model.traversal.step_lists import rebuilt
from dsl.source.yaml_reader import Node, Problems
from dsl.values import UNREADABLE, Json, NodePath
from dsl.wording.agent_wording import skill_as_task
from dsl.wording.agents.hook_wording import hook_of_plan


class AgentResolver:
    """Resolves the agents of all teams into the personas of one plan."""

    def __init__(
        self,
        document: SystemDocument,
        tree: Node,
        problems: Problems,
        capabilities: Capabilities,
        model: str | None,
        teams: Mapping[str, Sequence[str]],
        outputs: DeclaredOutputs,
        settings: Json,
    ) -> None:
        self.llm = document.llm_config
        self.tree = tree
        self.problems = problems
        self.capabilities = capabilities
        self.teams = teams
        self.tools = document.tools
        self.outputs = outputs
        self.settings = settings
        self.personas: dict[str, Persona] = {}
        self.tool_reads: dict[str, None] = {}
        """The context paths that the agents of tools read."""
        self.uses_legacy = False
        self.budgets: dict[str, tuple[Budgets, NodePath]] = {}
        """`{plan key: the task's own budgets and their place}`."""
        self._models = PersonaModels(document.llm_config, tree, problems, capabilities, model)
        self._used: set[str] = set()
        self._merger = PersonaMerger(
            document.llm_config, tree, problems, self._models, tool_groups(document.tools)
        )
        self._open: list[str] = []
        orchestration = document.orchestration
        self._run_hooks = () if orchestration is None else orchestration.hooks

    def team_steps(
        self, team: str, tasks: Sequence[Step], path: NodePath, scope: StepScope
    ) -> tuple[tuple[Step, ...], dict[str, None]]:
        """Resolve the team's steps; return them with the context paths that its agents read."""
        reads: dict[str, None] = {}
        steps = self._steps(tasks, path, scope, team, reads, in_plan=False)
        return steps, reads

    def _steps(
        self,
        steps: Sequence[Step],
        path: NodePath,
        scope: StepScope,
        place: str,
        reads: dict[str, None],
        *,
        in_plan: bool,
    ) -> tuple[Step, ...]:
        def inner(below: Sequence[Step], where: NodePath) -> tuple[Step, ...]:
            return self._steps(below, where, scope, place, reads, in_plan=in_plan)

        resolved: list[Step] = []
        for index, written in enumerate(steps):
            here = (*path, index)
            step = with_maxima(written, self.outputs.context)
            match step:
                case AgentStep():
                    resolved.append(self._agent(step, here, scope, place, reads))
                case SkillStep():
                    resolved.append(self._skill(step, here, in_plan))
                case LoopStep():
                    loop = compiled_loop(step)
                    resolved.append(rebuilt(loop, here, inner))
                case _:
                    resolved.append(rebuilt(step, here, inner))
        return tuple(resolved)

    def _skill(self, step: SkillStep, path: NodePath, in_plan: bool) -> SkillStep:
        if not in_plan and step.skill != UNREADABLE:
            place = self.tree.find((*path, "skill")).at
            self.problems.note("E501", place, path, skill_as_task(step.skill))
        contract = self.capabilities.skills.get(step.skill)
        if contract is None:
            return step
        terms = SkillTerms(
            effect=contract.effect,
            timeout=step.timeout if isinstance(step.timeout, int | float) else contract.timeout,
            retries=contract.retries,
            labels=contract.labels,
            startup=contract.startup,
        )
        approval = checked_by(
            step.requires_approval,
            of_contract(step.requires_approval, contract),
            (*path, "requires_approval"),
            self.tree,
            self.problems,
        )
        return step.model_copy(update={"terms": terms, "requires_approval": approval})

    def _agent(
        self,
        step: AgentStep,
        path: NodePath,
        scope: StepScope,
        place: str,
        reads: dict[str, None],
    ) -> AgentStep:
        if step.agent_class is not None:
            return self._legacy(step, path, reads)
        if not check_agent_keys(step, path, self.capabilities, self.tree, self.problems):
            return step
        if not step.personas:
            return self._choice(step, path, (*path, "persona_key"), scope, place, reads)
        chosen = [
            self._choice(one, path, (*path, "personas", index), scope, place, reads)
            for index, one in enumerate(step.choices)
        ]
        keys = tuple(one.persona_key for one in chosen)
        return step.model_copy(update={"personas": keys, "config": None})

    def _choice(
        self,
        step: AgentStep,
        path: NodePath,
        named_at: NodePath,
        scope: StepScope,
        place: str,
        reads: dict[str, None],
    ) -> AgentStep:
        """Resolve a step with one persona; a step with a problem stays as it is."""
        merged = self._merger.merged(step, path, named_at)
        if merged is None:
            return step
        self._used.add(merged.key)
        plan_key = merged.key if step.config is None else f"{merged.key}@{place}.{step.name}"
        approval = self._consent(step, merged.persona, path)
        checked = self._checked(step, merged, path, scope, plan_key, reads)
        if checked is None:
            return step
        self.personas[plan_key] = checked
        if step.config is not None and step.config.budgets is not None:
            self.budgets[plan_key] = (step.config.budgets, (*path, "config", "budgets"))
        return step.model_copy(
            update={"persona_key": plan_key, "config": None, "requires_approval": approval}
        )

    def _consent(self, step: AgentStep, persona: Persona, path: NodePath) -> Approval:
        """Return the approval, which checks an edited answer against the schema of answers."""
        asked = step.requires_approval
        after = isinstance(asked, Consent) and asked.at == "after"
        declared = persona.output_schema if after and step.agent_type != ORCHESTRATING else None
        place = (*path, "requires_approval")
        return checked_by(asked, declared, place, self.tree, self.problems)

    def _legacy(self, step: AgentStep, path: NodePath, reads: dict[str, None]) -> AgentStep:
        self.uses_legacy = True
        check_legacy(step, path, self.tree, self.problems)
        if step.input is None:
            reads[""] = None  # a legacy agent receives the whole context
        return step

    def _checked(
        self,
        step: AgentStep,
        merged: MergedPersona,
        path: NodePath,
        scope: StepScope,
        plan_key: str,
        reads: dict[str, None],
    ) -> Persona | None:
        """Return the persona with its plan resolved; None if agent type and plan disagree."""
        persona, written_at = merged.persona, merged.written_at
        check_answer_schema(
            persona.output_schema, written_at("output_schema"), self.tree, self.problems
        )
        if step.agent_type == ORCHESTRATING:
            check_syntax(
                self.tree,
                self.problems,
                persona.prompts,
                persona.prompt_syntax,
                lambda key: written_at("prompts", key),
            )
        is_open = plan_key in self._open
        if not plan_fits(step, persona, path, merged.named_at, is_open, self.tree, self.problems):
            return None
        if step.agent_type == ORCHESTRATING and persona.hooks:
            where = written_at("hooks")
            details = hook_of_plan(str(step.persona_key))
            self.problems.note("E510", self.tree.find(where).at, where, details)
        if step.agent_type == ORCHESTRATING and persona.execution_plan is not None:
            steps = self._plan(step, persona.execution_plan, merged, plan_key, reads)
            return persona.model_copy(update={"execution_plan": steps})
        if any(self.tools[name].agent is not None for name in persona.tools if name in self.tools):
            reads.update(self.tool_reads)
        check_tool_use(step, persona, path, written_at, self.tree, self.problems)
        where, providers = written_at("fallback"), self.capabilities.providers
        check_fallback(persona, providers, where, self.tree, self.problems)
        where = written_at("compaction")
        check_compaction(step, persona, providers, path, where, self.tree, self.problems)
        if persona.hooks:
            persona = self._hooked(persona, merged, reads)
        check_streaming(step, persona, path, written_at("stream"), self.tree, self.problems)
        sections, where = self.llm.providers, written_at("batch")
        check_batch(step, persona, sections, where, self.tree, self.problems)
        reads.update(check_prompts(scope, step, persona, path, written_at))
        return persona

    def _hooked(self, persona: Persona, merged: MergedPersona, reads: dict[str, None]) -> Persona:
        """Return the persona with its hooks checked."""
        path = merged.written_at("hooks")
        scope = self._plan_scope((), path)
        taken = hook_lines(self._run_hooks, ("orchestration", "hooks"), self.tree)
        hooks = compiled_hooks(
            persona.hooks, path, scope, self.tools, persona.tools, merged.key, taken
        )
        if persona.stream:
            check_streamed_answers(hooks, path, self.tree, self.problems)
        reads.update(scope.reads)
        return persona.model_copy(update={"hooks": hooks})

    def run_hooks(self, hooks: Sequence[HookSection], path: NodePath) -> tuple[Hook, ...]:
        """Check the hooks of the whole document, when all its personas are known."""
        compiled = compiled_hooks(hooks, path, self._plan_scope((), path), self.tools, None)
        if any(persona.stream for persona in self.personas.values()):
            check_streamed_answers(compiled, path, self.tree, self.problems)
        return compiled

    def _plan(
        self,
        step: AgentStep,
        plan: Sequence[Step],
        merged: MergedPersona,
        plan_key: str,
        reads: dict[str, None],
    ) -> tuple[Step, ...]:
        """Check and resolve the steps of an execution plan."""
        plan_path = merged.written_at("execution_plan")
        inputs = tuple(step.input) if isinstance(step.input, dict) else None
        scope = self._plan_scope(plan, plan_path, inputs=inputs if step.input is not None else ())
        check_steps(scope)
        self._open.append(plan_key)
        steps = self._steps(plan, plan_path, scope, plan_key, reads, in_plan=True)
        self._open.pop()
        reads.update(scope.reads)
        return steps

    def _plan_scope(
        self, plan: Sequence[Step], path: NodePath, inputs: tuple[str, ...] | None = None
    ) -> StepScope:
        """Return the scope of an execution plan; `inputs` are None if they are not known."""
        return StepScope(
            self.tree,
            self.problems,
            self.capabilities,
            self.teams,
            plan,
            path,
            inputs=inputs,
            tools=self.tools,
            outputs=self.outputs.of(plan),
            settings=self.settings,
        )

    def tool_agent(
        self, tool: str, agent: str, inputs: Collection[str], path: NodePath
    ) -> Persona | None:
        """Compile the agent that a tool is made of; a call gives it the inputs and nothing else.

        Args:
            tool: The name of the tool.
            agent: The key of its persona.
            inputs: The names of the arguments.
            path: Where the tool is written.
        """
        given: Json = dict.fromkeys(inputs, None)
        agent_type = self._default_type(agent)
        step = AgentStep(name=tool, agent_type=agent_type, persona_key=agent, input=given)
        scope = StepScope(
            self.tree,
            self.problems,
            self.capabilities,
            self.teams,
            (),
            path,
            inputs=inputs,
            tools=self.tools,
            outputs=self.outputs.of(()),
            settings=self.settings,
        )
        self._agent(step, path, scope, tool, self.tool_reads)
        return self.personas.get(agent)

    def _default_type(self, agent: str) -> str:
        persona = self.llm.personas[agent]
        if persona.execution_plan:
            return ORCHESTRATING
        offered = {*(persona.tools or ()), *(persona.subagents or ())}
        uses_tools = offered - set(persona.exclude_tools or ()) or persona.handoffs
        return TOOL_CALLING if uses_tools else SINGLE_SHOT

    def check_unused(self) -> None:
        """Check the personas that no task uses, so that no mistake stays hidden."""
        for key, persona in self.llm.personas.items():
            if key not in self._used:
                self._unused(persona, (*PERSONAS, key))

    def _unused(self, persona: PersonaDocument, place: NodePath) -> None:
        """Report the problems of a persona that every task using it would have."""
        tree, problems = self.tree, self.problems
        if self._models.model is None:  # else no persona's own is asked
            check_written_model(
                persona, place, self.llm, self.capabilities.providers, tree, problems
            )
        check_answer_schema(persona.output_schema, (*place, "output_schema"), tree, problems)
        if persona.stream:
            reasks = Persona.model_fields["max_reasks"].default
            reasks = reasks if persona.max_reasks is None else persona.max_reasks
            check_reasks(persona.output_schema, reasks, (*place, "stream"), tree, problems)
        check_syntax(
            tree,
            problems,
            persona.prompts or {},
            persona.prompt_syntax,
            lambda key: (*place, "prompts", key),
        )
        if persona.execution_plan is not None:
            scope = self._plan_scope(persona.execution_plan, (*place, "execution_plan"))
            # The personas of a catalog serve many projects, and each has commands of its own.
            unknown_here = {"commands": None, "channels": None}
            known = self.capabilities.model_copy(update=unknown_here)
            check_steps(replace(scope, capabilities=known))
