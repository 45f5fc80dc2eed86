"""Warn of stateful agents that concurrent work calls: their calls wait for each other.

What calls them may be a step, the model of an agent, a subagent, an execution plan or a team, at
any depth. A tool that a template names counts only where a literal list says which it is.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from coterie.dsl.analysis.labels.label_sources import executes
from coterie.dsl.analysis.routes.team_graph import TeamNode, Teams
from coterie.dsl.analysis.variable_scopes import Bodies, Body
from coterie.dsl.model.plan import Plan
from coterie.dsl.model.step_kinds.step_list import EachRound, EachTask, form_of
from coterie.dsl.model.steps import ParallelStep, Step, TaskGraphStep, TeamStep, ToolStep
from coterie.dsl.model.tools.tool_contract import is_stateful
from coterie.dsl.model.traversal.callable_tools import tools_of
from coterie.dsl.model.traversal.step_walk import walk
from coterie.dsl.problem_details import ProblemText, rule
from coterie.dsl.problem_texts import called
from coterie.dsl.source.collected_problems import Problems
from coterie.dsl.source.nodes import Node
from coterie.dsl.values import NodePath


@rule("W524")
def stateful_in_parallel(step: str, tool: str) -> ProblemText:
    return ProblemText(
        f"concurrent parts of {called(step)} call the stateful tool {tool!r}, which works on one "
        "call at a time",
        fix="remove `stateful: true`, or run these parts one after another",
    )


def check_stateful_tools(
    plan: Plan, graph: Teams, parts: Bodies, tree: Node, problems: Problems
) -> None:
    """Warn where branches, rounds, tasks or teams may call one stateful tool at the same time."""
    if not any(is_stateful(tool) for tool in plan.tools.values()):
        return
    reach = _Reach(plan, graph, parts)
    for body in (*parts.teams.values(), *parts.plans.values()):
        for step, path in body.steps_with_paths:
            for key, names in _concurrent_tools(step, path, reach):
                here = (*path, *key)
                for name in sorted(names):
                    problems.report(stateful_in_parallel(step.name, name), tree.key_at(here))
    for team, exits in graph.exits.items():
        for exit in exits:
            if exit.rule is None or not exit.usable:
                continue
            met = [reach.of_team(branch) for branch in graph.branches(exit)]
            here = (*parts.teams[team].path[:-1], "routing", "rules", exit.rule, "next_team")
            for name in sorted(_twice(met)):
                problems.report(stateful_in_parallel(team, name), tree.key_at(here))


def _concurrent_tools(
    step: Step, path: NodePath, reach: "_Reach"
) -> Iterator[tuple[NodePath, set[str]]]:
    """Yield the key that makes steps concurrent, with the tools that they call at once."""
    inner = tuple(step.lists(path))
    match step:
        case ParallelStep(join="fallback"):
            return
        case ParallelStep():
            yield ("branches",), _twice([reach.of_steps(step_list.steps) for step_list in inner])
        case _ if isinstance(rounds := form_of(inner), EachRound) and rounds.is_concurrent:
            bodies = [step_list.steps for step_list in inner]
            yield ("concurrency",), set[str]().union(*map(reach.of_steps, bodies))
            named = _tools_of_rounds(rounds, inner[0].steps)
            yield (), _twice([{name} & reach.stateful for name in named])
        case TaskGraphStep() if step.concurrency != 1:
            bodies = [
                step_list.steps for step_list in inner if isinstance(step_list.role, EachTask)
            ]
            yield ("concurrency",), set[str]().union(*map(reach.of_steps, bodies))
        case _:
            return


def _tools_of_rounds(rounds: EachRound, body: Sequence[Step]) -> Iterator[str]:
    """Yield the tool of each round, for a loop over a literal list of calls."""
    named = f"{{{{ {rounds.item}.tool }}}}"
    if not any(isinstance(step, ToolStep) and step.tool == named for step in body):
        return
    for item in rounds.over if isinstance(rounds.over, Sequence) else ():
        if isinstance(item, Mapping) and isinstance(item.get("tool"), str):
            yield str(item["tool"])


def _twice(met: Iterable[set[str]]) -> set[str]:
    """Return the tools that two of the concurrent parts call."""
    counts = Counter(name for names in met for name in names)
    return {name for name, count in counts.items() if count > 1}


@dataclass(frozen=True, slots=True)
class _Reach:
    """What steps and teams of a plan may call."""

    plan: Plan
    graph: Teams
    parts: Bodies

    @property
    def stateful(self) -> set[str]:
        """All stateful tools."""
        return {name for name, tool in self.plan.tools.items() if is_stateful(tool)}

    def of_steps(self, steps: Sequence[Step]) -> set[str]:
        """Return the stateful tools that steps may call, at any depth."""
        tools, seen_bodies = set[str](), set[Body]()
        ahead = [step for step, _ in walk(steps, ())]
        for step in ahead:
            if isinstance(step, TeamStep):
                tools |= self.of_team(TeamNode(step.team))
            tools |= self._own(step)
            for body in self.parts.called_by(step):
                if body not in seen_bodies:
                    seen_bodies.add(body)
                    ahead.extend(inner for inner, _ in body.steps_with_paths)
        return tools

    def of_team(self, first: TeamNode) -> set[str]:
        """Return the stateful tools that a team and all that it leads to may call."""
        tools, nodes = set[str](), [first]
        for node in nodes:
            for body in self.parts.within(self.parts.teams[node.team]):
                for step, _ in body.steps_with_paths:
                    tools |= self._own(step)
            nodes.extend(other for other in self.graph.beside(node) if other not in nodes)
        return tools

    def _own(self, step: Step) -> set[str]:
        """Return the stateful tools that a step or the model of its agent may call itself."""
        if isinstance(step, ToolStep) and step.tool not in self.plan.tools:
            return set()  # a template
        if not executes(step, self.plan):
            return set()
        return {name for name, tool in tools_of(step, self.plan) if is_stateful(tool)}
