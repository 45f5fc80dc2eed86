"""Loads: the maximum cost of one visit of a team, before any limit of the run applies."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from coterie.dsl.analysis.labels.grant_paths import GrantPaths
from coterie.dsl.analysis.variable_scopes import Bodies, Body
from coterie.dsl.analysis.worst_case_of_models import Terms, answer_loads
from coterie.dsl.analysis.worst_case_sums import (
    APPROVALS,
    FUNCTION_CALLS,
    MODEL_CALLS,
    Key,
    Load,
    added,
    largest,
    times,
)
from coterie.dsl.egress.egress_rules import may_ask
from coterie.dsl.hooks.hook_costs import function_calls, maximum_retries
from coterie.dsl.kinds.parallel import possible_branches
from coterie.dsl.model.context.declarations import declared_at
from coterie.dsl.model.hooks import Hook
from coterie.dsl.model.plan import Persona, Plan
from coterie.dsl.model.step_kinds.agent_step import AnyAgent
from coterie.dsl.model.step_kinds.step_list import EachRound, Form, Tried, WhenHolds, form_of
from coterie.dsl.model.steps import (
    ApprovalStep,
    FunctionStep,
    LegacyAgentStep,
    ParallelStep,
    PersonaStep,
    Step,
    TaskGraphStep,
    TeamStep,
    ToolStep,
)
from coterie.dsl.model.template_bound import maximum_of
from coterie.dsl.model.tools.tool_contract import NestedTool, Tool
from coterie.dsl.model.traversal.callable_tools import tools_of
from coterie.dsl.model.traversal.code_mode import code_mode_of
from coterie.dsl.model.traversal.step_bounds import maximum_turns
from coterie.dsl.source.nodes import Mark, Node
from coterie.dsl.templates.template import plain_path
from coterie.dsl.tool_loop.tool_loop_terms import MAX_CALLS_OF_CODE
from coterie.dsl.values import JsonValue, NodePath

MAX_CALLS_OF_TURN = 100
"""Calls of one model turn that a run executes."""
LEGACY = "legacy agents"
"""Counts the models of legacy classes, which no document names."""


@dataclass(frozen=True, slots=True)
class Unbounded:
    """A loop over a list whose length the document does not limit."""

    step: str
    length_of: str
    mark: Mark


@dataclass(slots=True)
class Loads:
    """The sum of what steps can cost."""

    plan: Plan
    bodies: Bodies
    tree: Node
    terms: Terms
    grants: GrantPaths
    unbounded: dict[NodePath, Unbounded] = field(default_factory=dict[NodePath, Unbounded])
    _plans: dict[str, Load] = field(default_factory=dict[str, Load])
    _of_tools: dict[str, Load] = field(default_factory=dict[str, Load])
    _open: set[str] = field(default_factory=set[str])
    """The agents and teams whose calls are being summed up."""
    _endless: set[str] = field(default_factory=set[str])
    """Those that call themselves, as often as a template says."""

    def team(self, body: Body) -> Load:
        """Return the load of one visit of a team, without the teams that its steps run."""
        assert body.team is not None
        aggregating: list[Load] = [{FUNCTION_CALLS: 1}] if body.team.steps != body.steps else []
        asking: list[Load] = [{APPROVALS: 1}] if self.plan.limits.no_progress == "ask" else []
        return added([*aggregating, *asking, self._all(body.steps, body.path)])

    def part(self, body: Body, first: int, end: int | None = None) -> Load:
        """Return the load of some of a team's own tasks, from one index to before another."""
        chosen = list(enumerate(body.steps))[first:end]
        return added(self._attempts(step, (*body.path, index)) for index, step in chosen)

    def _all(self, steps: Sequence[Step], path: NodePath) -> Load:
        return added(self._attempts(step, (*path, index)) for index, step in enumerate(steps))

    def _attempts(self, step: Step, path: NodePath) -> Load:
        """Count the attempts of a step with its `retry`; a rejection is never retried."""
        once = self._once(step, path)
        if step.retry is None or isinstance(step, ApprovalStep):
            return once
        return times(once, 1 + maximum_of(step.retry.retries))

    def _once(self, step: Step, path: NodePath) -> Load:  # one case a kind
        lists = tuple(step.lists(path))
        inside = [self._all(inner.steps, inner.path) for inner in lists]
        match step:
            case PersonaStep() | LegacyAgentStep():
                approvals: Load = {APPROVALS: 1} if step.requires_approval else {}
                agents = step.choices if isinstance(step, PersonaStep) else (step,)
                return added((approvals, largest(self._agent(agent) for agent in agents)))
            case ApprovalStep():
                return {APPROVALS: 1}
            case FunctionStep():
                return (
                    {FUNCTION_CALLS: 1, APPROVALS: 1}
                    if step.requires_approval
                    else {FUNCTION_CALLS: 1}
                )
            case ToolStep():
                return self._tool(step)
            case TeamStep(team=team):
                return {("team", team): 1}
            case TaskGraphStep():
                return self._graph(step, path, inside)
            case ParallelStep():
                may_run = possible_branches(step)
                return added(
                    load
                    for name, load in zip(step.branches, inside, strict=True)
                    if name in may_run
                )
            case _:
                return self._lists(step, path, form_of(lists), inside)

    def _lists(self, step: Step, path: NodePath, form: Form | None, inside: Sequence[Load]) -> Load:
        """Return the load of a step that does nothing but run its lists."""
        match form:
            case EachRound() as rounds:
                return times(inside[0], self._rounds(step, rounds, path, inside[0]))
            case WhenHolds():
                return largest(inside)
            case Tried():
                tried, *clauses, last = inside
                return added((tried, largest(clauses), last))
            case _:
                return added(inside)

    def _graph(self, step: TaskGraphStep, path: NodePath, inside: Sequence[Load]) -> Load:
        """Count a choice and a body for every attempt, and the recovery of every task."""
        select, body, recovery = inside
        tasks = math.inf if step.max_tasks is None else maximum_of(step.max_tasks)
        if isinstance(step.tasks, list) and step.add is None:
            tasks = min(tasks, len(step.tasks))
        attempts = tasks * (1 + maximum_of(step.task_retries))
        if step.max_iterations is not None:
            attempts = min(attempts, maximum_of(step.max_iterations))
        failing = min(tasks, attempts)
        approvals: Load = {APPROVALS: failing} if step.on_failed_task == "ask" else {}
        return added((times(added((select, body)), attempts), times(recovery, failing), approvals))

    def _agent(self, step: AnyAgent) -> Load:
        """Return the load of one turn with its re-asks, or of the agent's whole plan."""
        for plan in self.bodies.plans_of(step):
            if plan.key not in self._plans:
                self._plans[plan.key] = self._all(plan.steps, plan.path)
            return self._plans[plan.key]
        persona = None
        if isinstance(step, PersonaStep):
            persona = self.plan.personas.get(step.persona_key)
        if persona is None or isinstance(step, LegacyAgentStep):
            return {MODEL_CALLS: 1, ("model", LEGACY): 1}
        answers = answer_loads(step, persona, self.plan.hooks, self.terms)
        return added((answers, self._calls(step, persona)))

    def _calls(self, step: PersonaStep, persona: Persona) -> Load:
        """Return the load of the most calls that an agent's model can make.

        Each kind of load takes its most expensive tools first, as far as their policies allow.
        """
        if persona.tool_calls == "return" or persona.tool_choice == "none":
            return {}
        hooks = (*self.plan.hooks, *persona.hooks)
        turns = maximum_turns(step, persona) + persona.max_reasks
        calls = turns * (MAX_CALLS_OF_TURN if persona.parallel_tool_calls else 1)
        tools = dict(tools_of(step, self.plan))
        code = code_mode_of(persona, self.plan.tools)
        if code is None:
            return self._calls_of(tools, calls, persona, hooks)
        by_code = {tool: tools.pop(tool) for tool in code.functions.values() if tool in tools}
        inner = self._calls_of(by_code, turns * MAX_CALLS_OF_CODE, persona, hooks)
        made = sum(self._bounds_of_tools(by_code, turns * MAX_CALLS_OF_CODE, persona))
        parts: Load = {FUNCTION_CALLS: min(made, turns * MAX_CALLS_OF_CODE)}
        return added((self._calls_of(tools, calls, persona, hooks), inner, parts))

    def _bounds_of_tools(
        self, tools: Mapping[str, Tool], calls: float, persona: Persona
    ) -> list[float]:
        """Return how often each tool may be called, of so many calls."""
        bounds = {policy.tool: policy.max_calls for policy in persona.tool_policy}
        return [min(calls, bounds.get(name) or calls) for name in tools]

    def _calls_of(
        self, tools: Mapping[str, Tool], calls: float, persona: Persona, hooks: Sequence[Hook]
    ) -> Load:
        """Return the most that so many calls of these tools cost."""
        loads = [
            (self._call_load(name, tool, hooks), allowed)
            for (name, tool), allowed in zip(
                tools.items(), self._bounds_of_tools(tools, calls, persona), strict=True
            )
        ]
        total: dict[Key, float] = {}
        for key in dict.fromkeys(key for load, _ in loads for key in load):
            remaining: float = calls
            for load, allowed in sorted(loads, key=lambda pair: -pair[0].get(key, 0)):
                number = min(remaining, allowed)
                total[key] = total.get(key, 0) + number * load.get(key, 0)
                remaining -= number
        return total

    def _call_load(self, name: str, tool: Tool, hooks: Sequence[Hook]) -> Load:
        """Return the load of one call of a tool with its hooks, which may make it again."""
        once = self._one_call(name, tool)
        attempts = 1 + maximum_retries(hooks, "after_tool_call", name)
        before = function_calls(hooks, "before_tool_call", tool=name)
        checks = before + attempts * function_calls(hooks, "after_tool_call", tool=name)
        return added((times(once, attempts), {FUNCTION_CALLS: checks} if checks else {}))

    def _one_call(self, name: str, tool: Tool) -> Load:
        """Return the load of one call of a tool, with the attempts of an agent or a team."""
        questions = bool(tool.requires_approval) + self._may_ask(name, tool)
        approvals: Load = {APPROVALS: questions} if questions else {}
        body = self.bodies.tools.get(name)
        if body is None or not isinstance(tool, NestedTool):
            return added(({FUNCTION_CALLS: 1}, approvals))
        if name in self._open:
            self._endless.add(name)
            return approvals
        if name not in self._of_tools:
            self._open.add(name)
            load = times(self._all(body.steps, body.path), 1 + tool.retries)
            self._open.remove(name)
            self._of_tools[name] = times(load, math.inf) if name in self._endless else load
        return added((self._of_tools[name], approvals))

    def _may_ask(self, name: str, tool: Tool) -> bool:
        """Return whether a call may ask because of its labels, on any way to it."""
        return may_ask(tool, self.plan, always_granted=self.grants.always_granted(name))

    def _tool(self, step: ToolStep) -> Load:
        hooks = self.plan.hooks
        return largest(self._call_load(*named, hooks) for named in tools_of(step, self.plan))

    def _rounds(self, step: Step, form: EachRound, path: NodePath, body: Load) -> float:
        rounds = math.inf if form.maximum is None else maximum_of(form.maximum)
        rounds = min(rounds, self._declared_length(form.over))
        if isinstance(form.over, list):
            return min(rounds, len(form.over))
        if rounds == math.inf and any(key[0] != "team" for key in body):
            list_text = " ".join(str(form.over).split())
            mark = self.tree.find((*path, "iterate_on")).mark
            self.unbounded[path] = Unbounded(step.name, list_text, mark)
        return rounds

    def _declared_length(self, over: JsonValue) -> float:
        """Return the most items that a list of the declared context has."""
        path = plain_path(over) if isinstance(over, str) else None
        if path is None or path[0] != "context":
            return math.inf
        name = declared_at(path[1:], self.plan.context)
        if name is None:
            return math.inf
        declaration = self.plan.context[name]
        max_items = declaration.schema_.get("maxItems")
        declared = (declaration.keep_last, max_items)
        return min((length for length in declared if isinstance(length, int)), default=math.inf)
