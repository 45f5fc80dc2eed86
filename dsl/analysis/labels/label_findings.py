"""Report every call that can send out private data at the word of others without an approval."""

from collections.abc import Iterable, Iterator, Sequence
from functools import partial

from pydantic import JsonValue

from coterie.dsl.analysis.labels.grant_findings import NeededGrant, grants_to_add, needed_grants
from coterie.dsl.analysis.labels.label_calls import Leak, WalkPosition
from coterie.dsl.analysis.labels.label_sources import hook_sources, labels_of, sources
from coterie.dsl.analysis.labels.label_steps import StepFlow
from coterie.dsl.analysis.labels.labels_at_points import (
    FRESH,
    NOTHING,
    Met,
    Points,
    PointsByEnd,
    Source,
    possibly,
    union,
)
from coterie.dsl.analysis.routes.team_graph import TeamNode, Teams, exits_after
from coterie.dsl.analysis.variable_scopes import Bodies, bodies
from coterie.dsl.egress.counted_grants import allowed_grants
from coterie.dsl.egress.met_labels import KEPT
from coterie.dsl.egress.workspace_reads import vouches_for_all, writer_of_result
from coterie.dsl.logic.possible_statuses import after_failures
from coterie.dsl.logic.solver import Effort
from coterie.dsl.model.capabilities import KeptLabel, Label
from coterie.dsl.model.hooks import Hook
from coterie.dsl.model.plan import Plan
from coterie.dsl.model.step_kinds.step_base import FunctionTerms
from coterie.dsl.model.steps import FunctionStep, Step
from coterie.dsl.model.tools.tool_contract import FunctionTool, Tool
from coterie.dsl.model.traversal.step_walk import rebuilt
from coterie.dsl.problem_details import ProblemText, rule
from coterie.dsl.source.collected_problems import Problems
from coterie.dsl.source.nodes import Node, Place
from coterie.dsl.values import NodePath

_Start = tuple[TeamNode, tuple[Source, ...]]
"""A team that a run comes to, and what concurrent branches may bring."""


_Run = tuple[str, Met, tuple[Source, ...], frozenset[KeptLabel]]
"""A run of a team from its first visit: the team, what has been met, what comes beside it, and the
grants that may count within it."""


class LabelFlow:
    """The flow of labels through one plan."""

    def __init__(self, plan: Plan, graph: Teams, bodies: Bodies, effort: Effort) -> None:
        self._plan = plan
        self._graph = graph
        self._bodies = bodies
        self._effort = effort
        self._step_flow = StepFlow(plan, bodies, self._run, self._brought_by)
        self._ends: dict[_Run, PointsByEnd] = {}
        self._followed: set[_Run] = set()
        """The runs that this pass has followed, or is following: each once."""
        self._everything: Points = FRESH
        self._left: dict[str, Points] = {}
        """`{team: what has been met where a used-up budget sends the whole run there}`."""

    def check(self) -> list[Leak]:
        """Follow every path of a run; return its leaks."""
        hooks = tuple(hook_sources(self._plan))  # which may bring their labels at any time
        start = WalkPosition("", (), hooks)
        before = -1
        while before != self._known_points():  # until what calls itself adds nothing
            before = self._known_points()
            self._begin_pass()
            self._run(self._plan.entry_team, FRESH, start)
            for team, points in sorted(self._left.items()):
                self._run(team, points, start)
        self._begin_pass()
        for team in sorted(self._graph.cleaning()):
            self._run(team, self._everything, start)
        return list(self._step_flow.leaks)

    def _begin_pass(self) -> None:
        self._followed.clear()
        self._step_flow.begin_pass()

    def _known_points(self) -> int:
        of_teams = sum(len(ends.done) + len(ends.failed) + 1 for ends in self._ends.values())
        of_exits = sum(map(len, self._left.values()))
        return of_teams + of_exits + self._step_flow.known

    def _run(self, first: str, points: Points, position: WalkPosition) -> PointsByEnd:
        """Return what may have been met when a run that begins at this team ends."""
        all_ends = PointsByEnd()
        allowed = allowed_grants(position.enclosing, self._plan)
        for met, trace in points.items():
            key = (first, met, position.beside, allowed)
            if key not in self._followed:
                self._followed.add(key)
                ends = self._follow(first, {met: trace}, position)
                self._ends[key] = _either(self._ends.get(key, PointsByEnd()), ends)
            all_ends = _either(all_ends, self._ends.get(key, PointsByEnd()))
        return all_ends

    def _follow(self, first: str, points: Points, position: WalkPosition) -> PointsByEnd:
        begun: dict[_Start, Points] = {}
        ends = PointsByEnd()
        ahead: list[tuple[_Start, Points]] = [((TeamNode(first), position.beside), points)]
        while ahead:
            key, coming = ahead.pop()
            earlier_points = begun.get(key, NOTHING)
            new = {met: trace for met, trace in coming.items() if met not in earlier_points}
            if not new:
                continue
            begun[key] = union(earlier_points, new)
            here, leaving = self._visit(*key, new, position.enclosing)
            ends = _either(ends, here)
            ahead += leaving
        return ends

    def _visit(
        self,
        node: TeamNode,
        beside: tuple[Source, ...],
        points: Points,
        enclosing: tuple[str, ...],
    ) -> tuple[PointsByEnd, list[tuple[_Start, Points]]]:
        """Visit a team; return what has been met where the run ends, and what comes next."""
        success_points = failure_points = NOTHING
        leaving: list[tuple[_Start, Points]] = []
        exits = self._graph.exits[node.team]
        position = WalkPosition(
            node.team, self._bodies.teams[node.team].path, beside, None, enclosing
        )
        for some, numbers in self._exits_of_team(node.team, points, position):
            if not numbers:
                failure_points = union(failure_points, some)
            for exit in (exits[number] for number in numbers):
                if exit.leaves_all:
                    for team in exit.targets:
                        self._left[team] = union(self._left.get(team, NOTHING), some)
                    continue
                branches = tuple(self._graph.branches(exit))
                for branch in branches:
                    around = self._brought_by(other.team for other in branches if other != branch)
                    leaving.append(((branch, (*beside, *around)), some))
                after = self._graph.following(node, exit)
                if after is None:
                    success_points = union(success_points, some)
                else:
                    around = self._brought_by(other.team for other in branches)
                    leaving.append(((after, beside), possibly(some, around)))
        return PointsByEnd(success_points, failure_points), leaving

    def _exits_of_team(
        self, name: str, points: Points, position: WalkPosition
    ) -> Iterator[tuple[Points, list[int]]]:
        """Run a team's steps; yield what may have been met, with the exits that can follow.

        Without an exit, the run fails.
        """
        body, team = self._bodies.teams[name], self._plan.teams[name]
        exits = self._graph.exits[name]
        usable = [number for number, exit in enumerate(exits) if exit.usable]
        away = {number: exits[number].task for number in usable if exits[number].at_any_time}
        failed_at: dict[str, Points] = {}
        ends = self._step_flow.steps(body.steps, body.path, points, position, failed_at)
        success_points = union(ends.done, ends.returned)
        anywhere = union(points, *failed_at.values())
        self._everything = union(self._everything, anywhere, success_points)
        for number, task in away.items():
            yield anywhere if task is None else failed_at.get(task, NOTHING), [number]
        if not team.stop_on_failure:
            met = union(success_points, *failed_at.values())
            yield met, [number for number in usable if number not in away]
            return
        yield success_points, [number for number in usable if exits[number].after_success]
        for step, world in after_failures(team.steps, team.stop_on_failure, self._effort):
            failure_points = failed_at.get(step.name, NOTHING)
            if failure_points and team.routing is None:
                yield failure_points, []
            elif failure_points:
                after = exits_after(team, self._graph, world, self._effort)
                yield failure_points, [number for number in after if number not in away]

    def _brought_by(self, teams: Iterable[str]) -> tuple[Source, ...]:
        """Return what the teams of a branch may bring, and those that they lead to."""
        sources_by_label: dict[Label, Source] = {}
        ahead = [TeamNode(team, branch=True) for team in teams]
        seen_nodes = set(ahead)
        for node in ahead:
            body = self._bodies.teams[node.team]
            for inner in self._bodies.within(body):
                for source in sources(inner.steps, self._plan, node.team):
                    sources_by_label.setdefault(source.label, source)
            for other in self._graph.beside(node):
                if other not in seen_nodes:
                    seen_nodes.add(other)
                    ahead.append(other)
        return tuple(sources_by_label.values())


def _either(first: PointsByEnd, second: PointsByEnd) -> PointsByEnd:
    return PointsByEnd(
        union(first.done, second.done),
        union(first.failed, second.failed),
        union(first.returned, second.returned),
    )


def with_possible_labels(plan: Plan, trusted_paths: Sequence[str]) -> Plan:
    """Return the plan with these labels; the same plan if the worker vouches for no or all files.

    Args:
        plan: of the document.
        trusted_paths: globs of the files that the worker vouches for.
    """
    if not trusted_paths or vouches_for_all(trusted_paths):
        return plan
    steps, hook = partial(_steps, trusted_paths), partial(_hook, trusted_paths)
    teams = {
        name: team.model_copy(update={"steps": steps(team.steps, ())})
        for name, team in plan.teams.items()
    }
    personas = {
        key: persona.model_copy(
            update={
                "execution_plan": persona.execution_plan and steps(persona.execution_plan, ()),
                "hooks": tuple(map(hook, persona.hooks)),
            }
        )
        for key, persona in plan.personas.items()
    }
    tools = {name: _tool(trusted_paths, tool) for name, tool in plan.tools.items()}
    hooks = tuple(map(hook, plan.hooks))
    update = {"teams": teams, "personas": personas, "tools": tools, "hooks": hooks}
    return plan.model_copy(update=update)


def _steps(globs: Sequence[str], steps: Sequence[Step], path: NodePath) -> tuple[Step, ...]:
    return tuple(_step(globs, rebuilt(step, path, partial(_steps, globs))) for step in steps)


def _step(globs: Sequence[str], step: Step) -> Step:
    if not isinstance(step, FunctionStep):
        return step
    return step.model_copy(update={"terms": _terms(globs, step.skill, step.input, step.terms)})


def _hook(globs: Sequence[str], hook: Hook) -> Hook:
    terms = _terms(globs, hook.skill or "", hook.input, hook.terms)
    return hook.model_copy(update={"terms": terms})


def _terms(
    globs: Sequence[str], function: str, function_input: JsonValue, terms: FunctionTerms | None
) -> FunctionTerms | None:
    if terms is None or writer_of_result(function, function_input, globs) != "known_at_run_time":
        return terms
    return terms.model_copy(update={"labels": (*terms.labels, "untrusted")})


def _tool(globs: Sequence[str], tool: Tool) -> Tool:
    if not isinstance(tool, FunctionTool):
        return tool
    if writer_of_result(tool.skill, tool.fixed, globs) != "known_at_run_time":
        return tool
    return tool.model_copy(update={"labels": (*tool.labels, "untrusted")})


@rule("W521")
def unapproved_egress(
    tool: str,
    step: str,
    private: tuple[str, str],
    untrusted: tuple[str, str],
    needed: Sequence[NeededGrant],
) -> ProblemText:
    granted = "`grants: [private]` if it may send private data"
    if needed:
        granted = f"{grants_to_add(needed)}: the grant of {tool!r} does not count within it"
    return ProblemText(
        f"{step} can send private data out because of text that others wrote, so its run asks "
        "a person: "
        f"{private[1]!r} in {private[0]} returns private data, {untrusted[1]!r} in "
        f"{untrusted[0]} returns text that others wrote, and {tool!r} sends data out",
        fix=f"add `requires_approval: before` to {tool!r}, an `approval` step before it, or "
        f"{granted}",
    )


def check_labels(
    plan: Plan,
    graph: Teams,
    parts: Bodies,
    effort: Effort,
    tree: Node,
    problems: Problems,
    trusted_paths: Sequence[str],
) -> None:
    """Warn of each such call, with the calls that bring the labels on a way to it."""
    possible = with_possible_labels(plan, trusted_paths)
    if possible is not plan:
        plan, parts = possible, bodies(possible, tree)
    if not labels_of(plan).issuperset(("egress", *KEPT)):
        return
    for leak in LabelFlow(plan, graph, parts, effort).check():
        path = _written_at(leak, tree)
        node = tree.find(path)
        private, untrusted = (_source(leak, label) for label in KEPT)
        details = unapproved_egress(
            leak.tool,
            leak.step,
            (private.step, private.tool),
            (untrusted.step, untrusted.tool),
            needed_grants(leak.withheld, parts, tree),
        )
        problems.report(details, Place(node.mark if leak.agent is not None else node.at, path))


def _source(leak: Leak, label: KeptLabel) -> Source:
    return next(source for source in leak.trace if source.label == label)


def _written_at(leak: Leak, tree: Node) -> NodePath:
    """Return where the tool is offered to the model that calls it, or the step that calls it."""
    if leak.agent is None:
        return leak.path
    own = (*leak.path, "config")
    for base in (own, ("llm_config", "personas", leak.agent)):
        for key in ("tools", "subagents"):
            index = _index_in(tree, (*base, key), leak.tool)
            if index is not None:
                return (*base, key, index)
    return leak.path


def _index_in(tree: Node, path: NodePath, tool: str) -> int | None:
    """Return where a written list of tools, if there is one, names a tool."""
    items = tree.find(path).items() if tree.has(path) else []
    return next((index for index, item in enumerate(items) if item.value == tool), None)
