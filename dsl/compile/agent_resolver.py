"""Agents of a plan: their personas merged and checked, and their execution plans resolved.

The result is a snapshot that needs nothing else of the document.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from functools import partial

from coterie.dsl.checks.agents.agent_checks import check_agent_keys
from coterie.dsl.checks.agents.edited_value_schemas import checked_by
from coterie.dsl.checks.steps.bound_checks import with_maxima
from coterie.dsl.checks.steps.step_scope import OutsideReads, StepScope
from coterie.dsl.compile.merged_personas import PersonaMerger
from coterie.dsl.compile.persona_checks import PersonaChecks
from coterie.dsl.egress.channel_labels import call_labels
from coterie.dsl.model.budgets import Budgets
from coterie.dsl.model.plan import Persona
from coterie.dsl.model.plan_key import PlanKey
from coterie.dsl.model.step_kinds.agent_types import (
    ORCHESTRATING,
    default_agent_type,
    offered_tools,
)
from coterie.dsl.model.step_kinds.step_base import terms_of
from coterie.dsl.model.steps import FunctionStep, LegacyAgentStep, PersonaStep, Step
from coterie.dsl.model.traversal.step_walk import rebuilt
from coterie.dsl.problem_details import ProblemText, rule
from coterie.dsl.source.nodes import Place
from coterie.dsl.values import UNREADABLE, Json, NodePath

KeyOf = Callable[[str, str], PlanKey]
"""Returns the plan key of a persona with the `config` of a step."""


@rule("E501")
def function_as_task(name: str) -> ProblemText:
    return ProblemText(
        f"{name!r} is a tool function, and a team's task calls an agent or a tool",
        fix="declare a tool for it under `tools:`, or call it from the execution_plan of a "
        "generic_orchestrating persona",
    )


@dataclass
class AgentResolver:
    """Resolves the agents of all teams into the personas of one plan."""

    checks: PersonaChecks
    merger: PersonaMerger
    personas: dict[str, Persona] = field(default_factory=dict[str, Persona])
    """`{plan key: persona}`, as far as they are resolved."""
    uses_legacy: bool = False
    budgets: dict[str, tuple[Budgets, NodePath]] = field(
        default_factory=dict[str, tuple[Budgets, NodePath]]
    )
    """`{plan key: the task's own budgets and their place}`."""
    used: set[str] = field(default_factory=set[str])
    """The personas that some agent uses."""
    _open: list[PlanKey] = field(default_factory=list[PlanKey])
    """The plan keys of the execution plans in progress, outermost first."""

    def team_steps(
        self, team: str, tasks: Sequence[Step], path: NodePath, scope: StepScope
    ) -> tuple[tuple[Step, ...], OutsideReads]:
        """Resolve the team's steps; return them with what its agents read."""
        reads = OutsideReads()
        steps = self._steps(
            tasks, path, scope, partial(PlanKey.of_task, team), reads, in_plan=False
        )
        return steps, reads

    def _steps(
        self,
        steps: Sequence[Step],
        path: NodePath,
        scope: StepScope,
        key_of: KeyOf,
        reads: OutsideReads,
        *,
        in_plan: bool,
    ) -> tuple[Step, ...]:
        checks, tree, problems = self.checks, self.checks.tree, self.checks.problems
        inner = partial(self._steps, scope=scope, key_of=key_of, reads=reads, in_plan=in_plan)
        resolved: list[Step] = []
        for index, raw_step in enumerate(steps):
            here = (*path, index)
            step = with_maxima(raw_step, self.checks.outputs.context)
            match step:
                case LegacyAgentStep():
                    resolved.append(self._legacy(step, reads))
                case PersonaStep():
                    named = check_agent_keys(step, here, checks.capabilities, tree, problems)
                    agent = self._agent(step, here, scope, key_of, reads) if named else step
                    resolved.append(agent)
                case FunctionStep():
                    resolved.append(self._function(step, here, in_plan))
                case _:
                    resolved.append(rebuilt(step.resolved(), here, inner))
        return tuple(resolved)

    def _function(self, step: FunctionStep, path: NodePath, in_plan: bool) -> FunctionStep:
        if not in_plan and step.skill != UNREADABLE:
            mark = self.checks.tree.find((*path, "skill")).at
            self.checks.problems.report(function_as_task(step.skill), Place(mark, path))
        contract = self.checks.capabilities.functions.get(step.skill)
        if contract is None:
            return step
        timeout = step.timeout if isinstance(step.timeout, int | float) else None
        labels = call_labels(contract, step.input, self.checks.capabilities.reach)
        terms = terms_of(contract, timeout=timeout).model_copy(update={"labels": labels})
        approval = checked_by(
            step.requires_approval,
            contract.input_schema,
            contract.output_schema,
            (*path, "requires_approval"),
            self.checks.tree,
            self.checks.problems,
        )
        return step.model_copy(update={"terms": terms, "requires_approval": approval})

    def _agent(
        self,
        step: PersonaStep,
        path: NodePath,
        scope: StepScope,
        key_of: KeyOf,
        reads: OutsideReads,
    ) -> PersonaStep:
        if not step.personas:
            return self._choice(step, path, (*path, "persona_key"), scope, key_of, reads)
        chosen = [
            self._choice(choice, path, (*path, "personas", index), scope, key_of, reads)
            for index, choice in enumerate(step.choices)
        ]
        keys = tuple(choice.persona_key for choice in chosen)
        return step.model_copy(update={"personas": keys, "config": None})

    def _choice(
        self,
        step: PersonaStep,
        path: NodePath,
        named_at: NodePath,
        scope: StepScope,
        key_of: KeyOf,
        reads: OutsideReads,
    ) -> PersonaStep:
        """Resolve a step with one persona; a step with a problem stays as it is."""
        merged = self.merger.merged(step, path, named_at)
        if merged is None:
            return step
        self.used.add(merged.key)
        plan_key = PlanKey(merged.key) if step.config is None else key_of(merged.key, step.name)
        # An edited answer is checked against the schema of answers; a plan has none.
        schema = None if step.agent_type == ORCHESTRATING else merged.persona.output_schema
        approval = checked_by(
            step.requires_approval,
            None,
            schema,
            (*path, "requires_approval"),
            self.checks.tree,
            self.checks.problems,
        )
        is_open = plan_key in self._open
        checked = self.checks.checked(step, merged, path, scope, reads, is_open=is_open)
        if checked is None:
            return step
        persona = checked.persona
        if checked.plan is not None:
            steps = self._plan(checked.plan, plan_key, reads)
            persona = persona.model_copy(update={"execution_plan": steps})
        self.personas[plan_key] = _merge_uses(persona, self.personas.get(plan_key))
        if step.config is not None and step.config.budgets is not None:
            self.budgets[plan_key] = (step.config.budgets, (*path, "config", "budgets"))
        return step.model_copy(
            update={"persona_key": str(plan_key), "config": None, "requires_approval": approval}
        )

    def _legacy(self, step: LegacyAgentStep, reads: OutsideReads) -> LegacyAgentStep:
        self.uses_legacy = True
        if step.input is None:
            reads.context[""] = None  # a legacy agent receives the whole context
        return step

    def _plan(self, plan: StepScope, plan_key: PlanKey, reads: OutsideReads) -> tuple[Step, ...]:
        """Resolve the steps of an execution plan."""
        self._open.append(plan_key)
        key_of = partial(PlanKey.of_plan_step, plan_key)
        steps = self._steps(plan.steps, plan.path, plan, key_of, reads, in_plan=True)
        self._open.pop()
        reads.add(plan.reads)
        return steps

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
        arguments: Json = dict.fromkeys(inputs, None)
        agent_type = self._default_type(agent)
        step = PersonaStep(name=tool, agent_type=agent_type, persona_key=agent, input=arguments)
        scope = self.checks.plan_scope((), path, inputs)
        tree, problems = self.checks.tree, self.checks.problems
        if check_agent_keys(step, path, self.checks.capabilities, tree, problems):
            key_of = partial(PlanKey.of_task, tool)
            self._agent(step, path, scope, key_of, self.checks.tool_reads)
        return self.personas.get(agent)

    def _default_type(self, agent: str) -> str:
        persona = self.checks.document.llm_config.personas[agent]
        offered = offered_tools(
            persona.tools or (), persona.subagents or (), persona.exclude_tools or ()
        )
        offers_tools = bool(offered or persona.handoffs or persona.agent_skills)
        return default_agent_type(has_plan=bool(persona.execution_plan), offers_tools=offers_tools)


def _merge_uses(persona: Persona, earlier: Persona | None) -> Persona:
    """Return the persona of one more agent: one agent may follow its plan, and another ask it.

    Args:
        persona: as this agent uses it.
        earlier: as the agents before use it, if there are any.
    """
    if earlier is None:
        return persona
    model_source, other = (persona, earlier) if persona.provider else (earlier, persona)
    return other.model_copy(update={"provider": model_source.provider, "model": model_source.model})
