"""Bodies: lists of steps that share variables, each with its location in the document."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from coterie.dsl.model.plan import CONCENTRATOR_NAMES, Plan, Team
from coterie.dsl.model.step_kinds.agent_types import ORCHESTRATING
from coterie.dsl.model.steps import PersonaStep, Step
from coterie.dsl.model.traversal.agent_personas import execution_plans
from coterie.dsl.model.traversal.callable_tools import caller_key, step_of_tool, tools_of
from coterie.dsl.model.traversal.step_walk import PlacedStep, walk
from coterie.dsl.source.nodes import Node
from coterie.dsl.values import NodePath

TEAMS: NodePath = ("orchestration", "teams")
_PERSONAS: NodePath = ("llm_config", "personas")


@dataclass(frozen=True, eq=False)
class Body:
    """The tasks of a team, or the execution plan of a persona."""

    key: str
    """The team's id, or the persona's key in the plan."""
    steps: tuple[Step, ...]
    """As written: without what the compiler put before them."""
    path: NodePath
    team: Team | None = None
    """None for an execution plan."""
    given: tuple[str, ...] = ()
    """The variables that are there from the beginning."""

    @cached_property
    def steps_with_paths(self) -> Sequence[PlacedStep]:
        """Each step with its location, including nested steps."""
        return walk(self.steps, self.path)


@dataclass(frozen=True, slots=True)
class Bodies:
    """All bodies of a document."""

    teams: Mapping[str, Body]
    plans: Mapping[str, Body]
    """`{persona key: its execution plan}`, each once, however many tasks follow it."""
    plan: Plan
    tools: Mapping[str, Body]
    """`{tool: the one step that a call is like}`, for tools made of agents and teams."""
    _within: dict[Body, tuple[Body, ...]] = field(default_factory=dict[Body, tuple[Body, ...]])

    def called_by(self, step: Step) -> Iterator[Body]:
        """Yield what runs within a step besides its own steps: plans, and agents as tools."""
        yield from self.plans_of(step)
        for name, _ in tools_of(step, self.plan):
            if name in self.tools:
                yield self.tools[name]

    def plans_of(self, step: Step) -> Iterator[Body]:
        """Yield the execution plans that an agent may follow; none for any other step."""
        if isinstance(step, PersonaStep) and step.agent_type == ORCHESTRATING:
            for agent in step.choices:
                plan = self.plans.get(agent.persona_key)
                if plan is not None:
                    yield plan

    def within(self, body: Body) -> Sequence[Body]:
        """Return a body and all that its steps call except teams, at any depth, each once."""
        if body not in self._within:
            self._within[body] = tuple(self._reachable_bodies(body))
        return self._within[body]

    def _reachable_bodies(self, body: Body) -> Iterator[Body]:
        seen_bodies = {body}  # by identity: a team and a persona may have one name
        callers = set[tuple[str, ...]]()
        ahead = [body]
        while ahead:
            here = ahead.pop()
            yield here
            for step, _ in here.steps_with_paths:
                key = caller_key(step)
                if not key or key in callers:
                    continue
                callers.add(key)
                for callee in self.called_by(step):
                    if callee not in seen_bodies:
                        seen_bodies.add(callee)
                        ahead.append(callee)


def bodies(plan: Plan, tree: Node) -> Bodies:
    """Collect the bodies of a plan and its document."""
    teams = {team.id: _of_team(team) for team in plan.teams.values()}
    plans: dict[str, Body] = {}
    steps = {name: step_of_tool(name, tool, plan) for name, tool in plan.tools.items()}
    tools = {
        name: Body(f"tool {name}", (step,), ("tools", name))
        for name, step in steps.items()
        if step is not None
    }
    for body in (*teams.values(), *tools.values()):
        _collect(body, plan, tree, plans)
    return Bodies(teams, plans, plan, tools)


def _of_team(team: Team) -> Body:
    path = (*TEAMS, team.id, "tasks")
    if team.collects is None:
        return Body(team.id, team.steps, path, team)
    return Body(team.id, _own_tasks(team), path, team, CONCENTRATOR_NAMES)


def _own_tasks(team: Team) -> tuple[Step, ...]:
    """Return a concentrator's own tasks, without the tool function that aggregates before them."""
    by_function = team.collects and team.collects.aggregate not in ("list", "merge_dict")
    return team.steps[1:] if by_function else team.steps


def _collect(body: Body, plan: Plan, tree: Node, plans: dict[str, Body]) -> None:
    for step, path in body.steps_with_paths:
        for agent, steps in execution_plans(step, plan.personas):
            key = agent.persona_key
            if steps and key not in plans:
                where = written_at(tree, agent, path, "execution_plan")
                plans[key] = Body(key, steps, where)
                _collect(plans[key], plan, tree, plans)


def written_at(tree: Node, step: PersonaStep, path: NodePath, *field: str) -> NodePath:
    """Locate a field of an agent's persona: in the task's config, or in the persona."""
    own = (*path, "config", *field)
    return own if tree.has(own) else (*_PERSONAS, step.persona_name, *field)
