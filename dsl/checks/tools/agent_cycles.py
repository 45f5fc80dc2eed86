"""Refuse agents that call each other as tools in a circle, and tools that read in a circle."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from coterie.dsl.logic.components import components
from coterie.dsl.model.plan import Persona, Team
from coterie.dsl.model.steps import PersonaStep, Step, TeamStep, ToolStep
from coterie.dsl.model.tools.tool_contract import AgentTool, TeamTool, Tool
from coterie.dsl.model.traversal.step_walk import walk
from coterie.dsl.problem_details import ProblemText, rule
from coterie.dsl.source.collected_problems import Problems
from coterie.dsl.source.nodes import Node
from coterie.dsl.values import NodePath


class _Caller(NamedTuple):
    """A persona or a team, as a point of the graph of calls."""

    kind: str
    name: str


class _Call(NamedTuple):
    """What a caller leads to; by a tool, or by a step or a route."""

    to: _Caller
    tool: str | None = None


@rule("E508")
def agents_in_a_circle(names: Sequence[str]) -> ProblemText:
    return ProblemText(
        f"agents call each other as tools in a circle: {' -> '.join(names)}",
        fix="remove one of these tools from its agent",
    )


def check_cycles(
    tools: Mapping[str, Tool],
    personas: Mapping[str, Persona],
    teams: Mapping[str, Team],
    tool_paths: Mapping[str, NodePath],
    tree: Node,
    problems: Problems,
) -> None:
    """Note every tool that leads back to its own caller.

    Args:
        tools: of the plan.
        personas: of the plan, with their tools.
        teams: of the plan.
        tool_paths: where each tool is written.
        tree: the document.
        problems: collects the findings.
    """
    _check_memory(tools, tool_paths, tree, problems)
    graph = _graph(tools, personas, teams)
    points = dict.fromkeys((*graph, *(call.to for some in graph.values() for call in some)))
    beside = {point: [call.to for call in graph.get(point, ())] for point in points}
    noted: set[str] = set()
    for members in components(points, beside.__getitem__):
        within = set(members)
        for point in members:
            for call in graph.get(point, ()):
                if call.tool is None or call.to not in within or call.tool in noted:
                    continue
                noted.add(call.tool)
                cycle = [point, *_path(call.to, point, graph, within)]
                path = tool_paths[call.tool]
                problems.report(
                    agents_in_a_circle([node.name for node in cycle]), tree.key_at(path)
                )


def _graph(
    tools: Mapping[str, Tool], personas: Mapping[str, Persona], teams: Mapping[str, Team]
) -> dict[_Caller, list[_Call]]:
    graph: dict[_Caller, list[_Call]] = {}
    for key, persona in personas.items():
        offered = [call for name in persona.tools for call in _by_tool(name, tools)]
        steps = _by_steps(persona.execution_plan or (), tools)
        graph[_Caller("persona", key)] = [*offered, *steps]
    for key, team in teams.items():
        routed = [_Call(_Caller("team", name)) for name in _next(team)]
        graph[_Caller("team", key)] = [*_by_steps(team.steps, tools), *routed]
    return graph


def _by_tool(name: str, tools: Mapping[str, Tool]) -> Iterator[_Call]:
    match tools.get(name):
        case AgentTool(agent=agent):
            yield _Call(_Caller("persona", agent), name)
        case TeamTool(team=team):
            yield _Call(_Caller("team", team), name)
        case _:
            return


def _by_steps(steps: Iterable[Step], tools: Mapping[str, Tool]) -> Iterator[_Call]:
    for step, _ in walk(tuple(steps), ()):
        match step:
            case PersonaStep(persona_key=key):
                yield _Call(_Caller("persona", key))
            case TeamStep(team=team):
                yield _Call(_Caller("team", team))
            case ToolStep(tool=name):
                yield from _by_tool(name, tools)
            case _:
                pass


def _next(team: Team) -> Iterator[str]:
    if team.routing is None:
        return
    for route in team.routing.rules:
        named = (route.next_team,) if isinstance(route.next_team, str) else route.next_team or ()
        yield from named
        if route.concentrator is not None:
            yield route.concentrator
    if team.routing.default is not None:
        yield team.routing.default


def _path(
    start: _Caller, end: _Caller, graph: Mapping[_Caller, list[_Call]], within: set[_Caller]
) -> list[_Caller]:
    """Return the shortest path from one point to another, both included."""
    before: dict[_Caller, _Caller | None] = {start: None}
    ahead = [start]
    for point in ahead:
        if point == end:
            break
        for call in graph.get(point, ()):
            if call.to in within and call.to not in before:
                before[call.to] = point
                ahead.append(call.to)
    path: list[_Caller] = []
    here: _Caller | None = end
    while here is not None:
        path.append(here)
        here = before[here]
    return path[::-1]


@rule("E508")
def memory_in_a_circle(names: Sequence[str]) -> ProblemText:
    return ProblemText(
        f"tools read each other's work in a circle: {' -> '.join(names)}",
        fix="remove one of these `reads`",
    )


def _check_memory(
    tools: Mapping[str, Tool], tool_paths: Mapping[str, NodePath], tree: Node, problems: Problems
) -> None:
    beside = {
        name: [edge.source for edge in tool.reads if edge.source in tools]
        if isinstance(tool, AgentTool)
        else []
        for name, tool in tools.items()
    }
    for members in components(beside, beside.__getitem__):
        first = members[0]
        if len(members) > 1 or first in beside[first]:
            path = (*tool_paths[first], "reads")
            circle = [*members, first]
            problems.report(memory_in_a_circle(circle), tree.key_at(path))
