"""Dataflow of context fields: what a run may have set before each team begins.

The analysis runs forward over every path that a run can take. A field that no path sets before a
read must come with the start, or is missing. A field that no team sets is an input of the
document.
"""

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from coterie.dsl.analysis.routes.team_graph import TeamNode, Teams
from coterie.dsl.analysis.step_reads import Reader
from coterie.dsl.analysis.template_reads import Read, value_reads
from coterie.dsl.analysis.variable_scopes import TEAMS, Bodies
from coterie.dsl.model.plan import Plan
from coterie.dsl.model.steps import TeamStep
from coterie.dsl.path_sets import PathIndex
from coterie.dsl.paths import Path
from coterie.dsl.problem_details import ProblemText, rule
from coterie.dsl.source.collected_problems import Problems
from coterie.dsl.source.nodes import Mark
from coterie.dsl.source.nodes import Node as Written
from coterie.dsl.templates.path_templates import fixed_part


class Input(NamedTuple):
    """A context field that the document expects with the start."""

    path: str
    """Dotted, within the context."""
    needed: bool
    """Without it some step fails; else the document takes care of its absence."""
    mark: Mark
    """Where it is read first."""
    team: str = ""
    """The team that reads it first."""
    form: str = ""
    """What a declared input holds, in a few words."""
    default: str = ""
    """The default of a declared input, as JSON; empty without one."""
    keep_last: int | None = None
    """How many items the list of a declared input keeps."""
    operations: tuple[str, ...] = ()
    """What teams do to a declared input: `replace`, `append`, ..."""


class Flow:
    """The fields that may be set when a team begins; sets of paths are bit masks."""

    def __init__(self, graph: Teams, bodies: Bodies) -> None:
        self._bits: dict[Path, int] = {}
        """`("context", ...)` for what is set, `("teams", id)` for a team that has run."""
        self._setters: dict[Path, dict[str, None]] = {}
        self._known = PathIndex()
        self._masks: dict[Path, int] = {}
        self._near: dict[Path, list[str]] = {}
        self._before = dict.fromkeys(graph.plan.teams, 0)
        self._rank = {team: number for number, team in enumerate(graph.plan.teams)}
        self._within = {team: self._written_bits(bodies, team) for team in graph.plan.teams}
        """What the steps of a team, and of the plans that its agents follow, write."""
        leads = {node: tuple(self._leads(graph, bodies, node)) for node in graph.nodes}
        nodes = {team: [TeamNode(team), TeamNode(team, branch=True)] for team in graph.plan.teams}
        ahead, waiting = deque(graph.nodes), set(graph.nodes)
        while ahead:
            node = ahead.popleft()
            waiting.discard(node)
            for team, new in leads[node]:
                after = self._before[team] | self._before[node.team] | new
                if after == self._before[team]:
                    continue
                self._before[team] = after
                changed = [
                    team_node
                    for team_node in nodes[team]
                    if team_node in leads and team_node not in waiting
                ]
                ahead.extend(changed)
                waiting.update(changed)

    def _leads(self, graph: Teams, bodies: Bodies, node: TeamNode) -> Iterator[tuple[str, int]]:
        """Yield what a visit adds per next team; a branch that ends feeds every concentrator."""
        for exit in graph.usable(node):
            new = self._bit(("teams", node.team)) | self._within[node.team]
            for update in exit.updates:
                new |= self._set(update, node.team)
            meeting = graph.concentrators if node.branch else ()
            for team in (*exit.targets, exit.concentrator, *meeting):
                if team is not None:
                    yield team, new
        for body in bodies.within(bodies.teams[node.team]):
            for step, _ in body.steps_with_paths:
                if isinstance(step, TeamStep):
                    input_bits = [self._bit(("context", key)) for key in step.input or {}]
                    yield step.team, sum(input_bits) | self._within[node.team]

    def _written_bits(self, bodies: Bodies, team: str) -> int:
        bits = 0
        for body in bodies.within(bodies.teams[team]):
            for step, _ in body.steps_with_paths:
                for update in step.context_updates:
                    bits |= self._set(update, team)
        return bits

    def _set(self, update: str, team: str) -> int:
        """Note a path that a team sets: of a templated key, the part before the template."""
        path = ("context", *fixed_part(update))
        self._setters.setdefault(path, {})[team] = None
        return self._bit(path)

    def _bit(self, path: Path) -> int:
        if path not in self._bits:
            self._bits[path] = 1 << len(self._bits)
            self._known.add(path)
        return self._bits[path]

    def may_be_set(self, path: Path, team: str) -> bool:
        """Return whether a value at, above or below a path of the facts may exist."""
        if path not in self._masks:
            self._masks[path] = sum(self._bits[near] for near in self._known.overlapping(path))
        return (self._before[team] | self._within[team]) & self._masks[path] != 0

    def setters(self, path: Path) -> list[str]:
        """List the teams whose routing sets a value at, above or below a context path."""
        if path not in self._near:
            near = [self._setters.get(other, {}) for other in self._known.overlapping(path)]
            near_setters = dict.fromkeys(team for teams in near for team in teams)
            self._near[path] = sorted(near_setters, key=self._rank.__getitem__)
        return self._near[path]


def check_context(
    graph: Teams, bodies: Bodies, reader: Reader, flow: Flow, tree: Written, problems: Problems
) -> tuple[Input, ...]:
    """Report reads of context fields that no path can have set before.

    Returns:
        The inputs of the document, in the order of their first reads.
    """
    inputs: dict[str, Input] = {}
    for team in graph.plan.teams.values():
        if team.id not in graph.reached:
            continue
        reported: set[Path] = set()
        for read in reader.team(bodies, team, (*TEAMS, team.id)):
            if len(read.path) < 2 or flow.may_be_set(read.path, team.id):
                continue
            early = read.needed and read.path[:2] not in reported
            match read.path[0]:
                case "context" if not graph.plan.context:
                    setters = flow.setters(read.path)
                    if not setters or not read.needed:
                        _expect(inputs, read, team.id, tree)
                    elif early:
                        reported.add(read.path[:2])
                        _note_field(read, team.id, setters, tree, problems)
                case "teams" if early:
                    reported.add(read.path[:2])
                    _note_team(read, team.id, graph, tree, problems)
                case _:
                    pass
    _expect_of_outputs(graph.plan, flow, inputs, tree)
    return _topmost(inputs)


def _expect_of_outputs(plan: Plan, flow: Flow, inputs: dict[str, Input], tree: Written) -> None:
    """Add the fields that only a declared output reads; it sees all that the run has set."""
    for owner, read in output_reads(plan):
        if read.path[0] != "context" or len(read.path) < 2 or flow.setters(read.path):
            continue
        if owner not in plan.teams or not flow.may_be_set(read.path, owner):
            _expect(inputs, read, owner, tree)


def output_reads(plan: Plan) -> Iterator[tuple[str, Read]]:
    """Yield the reads of the declared outputs, each with the team, or `output` for the run.

    The user of the run is read as it starts.
    """
    for read in value_reads(plan.output, ("orchestration", "output")):
        yield "output", read
    for read in value_reads(plan.user, ("orchestration", "user")):
        yield "user", read
    for team in plan.teams.values():
        for read in value_reads(team.output, (*TEAMS, team.id, "output")):
            yield team.id, read


@rule("W508")
def field_read_too_early(
    name: str, team: str, setters: Sequence[str], *, is_asked: bool
) -> ProblemText:
    what = "is asked for" if is_asked else "is read"
    sets, comes = ("sets", "comes") if len(setters) == 1 else ("set", "come")
    return ProblemText(
        f"{name} {what} by the team {team!r} before any team can have set it: only {both(setters)} "
        f"{sets} it, and {comes} later",
        fix=f"set it earlier, or write `{{{{ {name} | default(...) }}}}` if the start may give it",
    )


def both(names: Sequence[str]) -> str:
    """Return `'a', 'b' and 'c'`."""
    *first, last = map(repr, names)
    return f"{', '.join(first)} and {last}" if first else last


def _note_field(
    read: Read, team: str, setters: list[str], tree: Written, problems: Problems
) -> None:
    name = ".".join(read.path)
    problems.report(
        field_read_too_early(name, team, setters, is_asked=not read.fails),
        tree.value_at(read.document_path),
    )


@rule("W508")
def team_read_too_early(path: Sequence[str], team: str) -> ProblemText:
    statement = f"{'.'.join(path)} is read by the team {team!r}"
    if path[1] == team:
        return ProblemText(
            f"{statement} in its only visit, before it has a result",
            fix=f"write `tasks.{'.'.join(path[3:])}` for the present visit",
        )
    return ProblemText(
        f"{statement} and {path[1]!r} cannot have run before it", fix="route to it first"
    )


def _note_team(read: Read, team: str, graph: Teams, tree: Written, problems: Problems) -> None:
    name = read.path[1]
    if name not in graph.plan.teams:
        return
    problems.report(team_read_too_early(read.path, team), tree.value_at(read.document_path))


def _expect(inputs: dict[str, Input], read: Read, team: str, tree: Written) -> None:
    name = ".".join(read.path[1:])
    earlier_input = inputs.get(name)
    needed = read.needed and read.fails
    if earlier_input is None:
        inputs[name] = Input(name, needed, tree.find(read.document_path).mark, team)
    elif needed and not earlier_input.needed:
        inputs[name] = Input(name, True, earlier_input.mark, earlier_input.team)


def _topmost(inputs: Mapping[str, Input]) -> tuple[Input, ...]:
    """Drop inputs that lie within another one, unless only they are needed."""
    return tuple(
        candidate
        for candidate in inputs.values()
        if not any(
            path in inputs and (inputs[path].needed or not candidate.needed)
            for path in _above(candidate.path)
        )
    )


def _above(path: str) -> Iterator[str]:
    """Return the prefixes of a path: `a` and `a.b` for `a.b.c`."""
    while "." in path:
        path = path.rpartition(".")[0]
        yield path
