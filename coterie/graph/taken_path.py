"""Derive the path of a run through its picture from its trail."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from coterie.dsl.evaluate.because import route_because
from coterie.dsl.kinds.agent import some_tools
from coterie.dsl.model.causes import DefaultTaken, NotDecided, RuleMatched, VisitsReached
from coterie.dsl.tool_loop.call_names import calls_in, without_calls
from coterie.graph.picture import START, Picture, RouteArrow, RouteKey, TeamBox
from coterie.graph.task_lines import TaskLine
from coterie.runs.task_trees import TaskTree
from coterie.text.problems import counted
from coterie.text.round_counts import rounds_of
from coterie.workflows.core.causes.agent_causes import ModelTurned
from coterie.workflows.core.state_keys import StepKey
from coterie.workflows.core.views import RoundsView, RunStatus, TrailEntry

ROUND = re.compile(r"/\d+(?=/)")
"""The number of a round in the path of a step, if rounds are concurrent."""
_ENDS = {"success": "succeeded", "failure": "failed", "skipped": "skipped"}


@dataclass(slots=True)
class RoundEnds:
    """The latest ends of one team's steps in rounds: `{path in the picture: {path: status}}`."""

    ends: dict[str, dict[str, str]] = field(default_factory=dict[str, dict[str, str]])

    def note(self, entry: TrailEntry, path: str) -> None:
        """Keep how a step ended in one round."""
        step = entry.step or ""
        if entry.status in _ENDS and ROUND.search(step) and not calls_in(step):
            self.ends.setdefault(path, {})[step] = entry.status

    def is_partial(self, path: str) -> bool:
        """Return whether some rounds of a step, or of a step within it, failed."""
        return any(
            "failure" in ends.values()
            for of, ends in self.ends.items()
            if of == path or of.startswith(f"{path}/")
        )

    def detail(self, path: str) -> tuple[str, ...]:
        """Return the counts by state: `11 succeeded, 1 failed`."""
        counts = Counter(self.ends.get(path, {}).values())
        words = [f"{counts[status]} {word}" for status, word in _ENDS.items() if counts[status]]
        return (", ".join(words),) if words else ()


def with_rounds(
    tasks: Sequence[TaskLine], team: str, ends: RoundEnds | None, loops: Sequence[RoundsView]
) -> tuple[TaskLine, ...]:
    """Add to the lines of a team how many rounds have which state."""
    round_ends = ends or RoundEnds()
    details: Mapping[str, str] = {
        ROUND.sub("", StepKey(loop.step).path): rounds_of(loop)
        for loop in loops
        if StepKey(loop.step).team == team
    }
    return tuple(
        replace(
            task,
            detail=(
                *((details[task.path],) if task.path in details else ()),
                *round_ends.detail(task.path),
                *task.detail,
            ),
        )
        for task in tasks
    )


AgentKey = tuple[str, str]
"""Team, and path of the step."""
MAX_TOOLS = 8
"""Tools that an agent's box shows; the last line counts the rest."""


@dataclass(slots=True)
class AgentCalls:
    """What an agent with tools did in the latest visit of its team."""

    turns: int = 0
    calls: Counter[str] = field(default_factory=Counter[str])
    """By tool, in the order of their first calls."""
    failed: Counter[str] = field(default_factory=Counter[str])
    skills: dict[str, None] = field(default_factory=dict[str, None])
    """The agent skills that it has read."""

    def lines(self, agent: TaskLine) -> Iterator[TaskLine]:
        """Yield a line for each tool, below the agent's own."""
        tools = list(self.calls.items())
        for tool, calls in tools[:MAX_TOOLS]:
            detail = counted(calls, "call")
            if self.failed[tool]:
                detail += f", {self.failed[tool]} failed"
            yield TaskLine(f"{agent.path}/{tool}", agent.depth + 1, "tool", tool, (detail,))
        rest = tools[MAX_TOOLS:]
        if rest:
            calls = counted(sum(number for _, number in rest), "call")
            words = f"{calls} of {counted(len(rest), 'other tool')}"
            yield TaskLine("", agent.depth + 1, None, words, ())
        if self.skills:
            words = f"has read the skills {some_tools([*self.skills])}"
            yield TaskLine("", agent.depth + 1, None, words, ())


def note_calls(known: dict[AgentKey, AgentCalls], entry: TrailEntry, path: str) -> None:
    """Count a turn, or a call that failed.

    Args:
        known: The counts so far.
        entry: A trail entry about a step.
        path: The path of the step, as in the picture.
    """
    if isinstance(entry.cause, ModelTurned):
        agent = known.setdefault((entry.team, path), AgentCalls())
        agent.turns += 1
        agent.calls.update(entry.cause.calls)
        agent.skills |= dict.fromkeys(entry.cause.skills)
    elif entry.status == "failure":
        above, _, tool = path.rpartition("/")
        agent = known.get((entry.team, above))
        if agent is not None:
            agent.failed[tool] += 1


def with_calls(
    tasks: tuple[TaskLine, ...], team: str, calls: Mapping[AgentKey, AgentCalls]
) -> tuple[TaskLine, ...]:
    """Add the turns and the calls of a team's agents to its lines."""
    if not any(of == team for of, _ in calls):
        return tasks
    lines: list[TaskLine] = []
    for task in tasks:
        agent = calls.get((team, task.path)) if task.path else None
        if agent is None:
            lines.append(task)
            continue
        lines.append(replace(task, detail=(counted(agent.turns, "turn"), *task.detail)))
        lines.extend(agent.lines(task))
    return tuple(lines)


Mark = Literal["success", "failure", "partial", "skipped", "doing", "waiting", "pending", "blocked"]
Standing = Literal["now", "waiting", "failed", "stopped"]

_MARKS: dict[str, Mark] = {
    "success": "success",
    "failure": "failure",
    "skipped": "skipped",
    "approved": "success",
    "rejected": "failure",
}
_STANDING: dict[Standing, str] = {
    "now": "now here",
    "waiting": "waits for a person",
    "failed": "failed here",
    "stopped": "stopped here",
}
_STRANDED = ("TeamFailed", "NoRoute")
_BRANCH_ENDS: dict[str, Standing] = {"failed": "failed", "cancelled": "stopped"}


@dataclass(frozen=True, slots=True)
class Walk:
    """Where a run was, how it continued, and where it is."""

    run: str
    headline: str
    """One line about the whole run."""
    visits: Mapping[str, int] = field(default_factory=dict[str, int])
    """`{team: number of visits}`."""
    taken: Mapping[RouteKey, tuple[int, ...]] = field(
        default_factory=dict[RouteKey, tuple[int, ...]]
    )
    """`{route: its positions among all routes taken}`, from 1."""
    marks: Mapping[tuple[str, str], Mark] = field(default_factory=dict[tuple[str, str], Mark])
    """`{(team, path of a step): its status in the team's latest visit}`."""
    standing: Mapping[str, Standing] = field(default_factory=dict[str, Standing])
    """`{team: its current status}`; teams that the run has left are absent."""
    stranded: str | None = None
    """The team that no route led out of."""
    redirects: Mapping[RouteKey, str] = field(default_factory=dict[RouteKey, str])
    """`{route: why}` for routes that are not in the plan: redirects by people and budgets."""
    trees: tuple[TaskTree, ...] = ()
    """The tasks of its task graphs."""
    agents: Mapping[AgentKey, AgentCalls] = field(default_factory=dict[AgentKey, AgentCalls])
    """What agents with tools did in the latest visits of their teams."""
    rounds: Mapping[str, RoundEnds] = field(default_factory=dict[str, RoundEnds])
    """`{team: how steps ended in the rounds of its latest visit}`."""
    loops: tuple[RoundsView, ...] = ()
    """Concurrent loops in progress."""

    def badges(self, team: str) -> list[tuple[str, str]]:
        """Return a team's visits and how the run stands there: words, each with its kind."""
        visits, standing = self.visits.get(team, 0), self.standing.get(team)
        badges = [("1 visit" if visits == 1 else f"{visits} visits", "done")] if visits else []
        return badges if standing is None else [*badges, (_STANDING[standing], standing)]

    @property
    def began_at_entry(self) -> bool:
        """Whether the run started at the plan's first team."""
        return not any(team == START for team, *_ in self.redirects)

    def orders(self, route: RouteArrow) -> tuple[int, ...]:
        """Return the positions of this route among all routes taken."""
        if route.kind == "call":
            return ()
        if route.ending == "failure":
            last = 1 + sum(map(len, self.taken.values()))
            return (last,) if route.team == self.stranded else ()
        return self.taken.get(route.key, ())


def with_walk(picture: Picture, walk: Walk | None) -> Picture:
    """Add the parts that no plan contains: redirects, and the turns and calls of agents."""
    if walk is None:
        return picture
    boxes = tuple(replace(box, tasks=_with_work(box, walk)) for box in picture.boxes)
    ids = {box.id for box in picture.boxes}
    arrows = tuple(
        RouteArrow(team, None, "redirect", (str(target),), (why,))
        for (team, *_, target), why in walk.redirects.items()
        if target in ids and team in (START, *ids)
    )
    return replace(picture, boxes=boxes, routes=(*picture.routes, *arrows))


def _with_work(box: TeamBox, walk: Walk) -> tuple[TaskLine, ...]:
    tasks = with_calls(box.tasks, box.id, walk.agents)
    return with_rounds(tasks, box.id, walk.rounds.get(box.id), walk.loops)


def walk_of(
    run: str,
    headline: str,
    trail: "Sequence[TrailEntry]",
    status: "RunStatus | None" = None,
    *,
    over: bool = False,
) -> Walk:
    """Build the walk from a trail.

    Args:
        run: Id of the run.
        headline: One line about it.
        trail: From its start, or from where it is still known.
        status: What the run does now; None if no worker answers.
        over: Whether the run has ended.
    """
    walker = _Walker()
    for entry in trail:
        walker.step(entry)
    if over:
        walker.stop()
    elif status is not None:
        walker.locate(status)
    return Walk(
        run=run,
        headline=headline,
        visits=walker.visits,
        taken={key: tuple(numbers) for key, numbers in walker.taken.items()},
        marks=walker.marks,
        standing=walker.standing,
        stranded=walker.stranded,
        redirects=walker.redirects,
        agents=walker.agents,
        rounds=walker.rounds,
        loops=() if over or status is None else status.loops,
    )


class _Walker:
    """Processes a trail, entry by entry."""

    def __init__(self) -> None:
        self.visits: dict[str, int] = {}
        self.taken: dict[RouteKey, list[int]] = {}
        self.marks: dict[tuple[str, str], Mark] = {}
        self.rounds: dict[str, RoundEnds] = {}
        self.standing: dict[str, Standing] = {}
        self.stranded: str | None = None
        self.routes = 0
        self.agents: dict[AgentKey, AgentCalls] = {}
        self.redirects: dict[RouteKey, str] = {}
        self._latest: tuple[RouteKey, str | None] | None = None
        """The latest route, and its target."""
        self._turned: tuple[str, str] | None = None
        """The team that the run skipped before another one started, and why."""

    def step(self, entry: "TrailEntry") -> None:
        """Process one entry."""
        match entry.kind:
            case "team":
                self.visits[entry.team] = entry.visit
                self.standing[entry.team] = "now"
                self.marks = {key: how for key, how in self.marks.items() if key[0] != entry.team}
                self.rounds.pop(entry.team, None)
                self.agents = {key: of for key, of in self.agents.items() if key[0] != entry.team}
                if self._turned is not None:
                    (origin, why), self._turned = self._turned, None
                    self._take((origin, "redirect", entry.team), entry.team, why)
                if isinstance(entry.cause, VisitsReached):
                    self._take((entry.cause.team, entry.team), entry.team, entry.because)
            case "step" | "approval":
                self._mark_end(entry)
            case "route" if entry.status in ("success", "failure"):
                self._take(_route(entry), entry.next_team, entry.because)
                self.standing.pop(entry.team, None)
            # no route, a limit, or a template error: the run failed between two teams
            case "route":
                self.standing[entry.team] = "failed"
                if entry.status in _STRANDED:
                    self.stranded = entry.team
            case "control" if entry.cause is not None and entry.cause.code == "not_begun":
                self._turn_away(entry, route_because(entry.cause.sent))
            case _:  # other messages from people do not change the path
                pass

    def _take(self, key: RouteKey, target: str | None, why: str) -> None:
        self.routes += 1
        self.taken.setdefault(key, []).append(self.routes)
        self._latest = key, target
        if len(key) == 3:
            self.redirects.setdefault(key, why)

    def _turn_away(self, entry: "TrailEntry", why: str) -> None:
        """Undo the latest route: its target never started."""
        origin = START
        if self._latest is not None:
            key, target = self._latest
            origin = key[0]
            if target == entry.team:
                self.taken[key].pop()
                self.routes -= 1
                if not self.taken[key]:
                    del self.taken[key]
                    self.redirects.pop(key, None)
                self._latest = key, None
        self._turned = self._turned[0] if self._turned else origin, why

    def _mark_end(self, entry: "TrailEntry") -> None:
        if entry.step is None:
            return
        branch = _BRANCH_ENDS.get(entry.status or "") if entry.visit == 0 else None
        if branch is not None and entry.step in self.standing:
            self.standing[entry.step] = branch
        path = _path_in_picture(entry.step)
        note_calls(self.agents, entry, path)
        ends = self.rounds.setdefault(entry.team, RoundEnds())
        ends.note(entry, path)
        mark = _MARKS.get(entry.status or "")
        if mark is not None:
            partial = mark == "success" and ends.is_partial(path)
            self.marks[entry.team, path] = "partial" if partial else mark

    def stop(self) -> None:
        """Mark where a cancelled or terminated run was."""
        for team, how in self.standing.items():
            if how == "now":
                self.standing[team] = "stopped"

    def locate(self, status: "RunStatus") -> None:
        """Correct the position from the run's status, which is more exact than its trail."""
        marks: dict[str, Mark] = {doing.step: "doing" for doing in status.doing}
        marks |= dict.fromkeys(map(StepKey.of_request, status.waiting_for), "waiting")
        here: dict[str, Standing] = {}
        for key, mark in marks.items():
            step = StepKey(key)
            team = step.team
            self.marks[team, _path_in_picture(step.path)] = mark
            here[team] = "waiting" if mark == "waiting" else here.get(team, "now")
        former_teams = [
            team for team, how in self.standing.items() if how == "now" and team not in here
        ]
        for team in former_teams if here else ():
            del self.standing[team]
        self.standing |= here


def _path_in_picture(path: str) -> str:
    """Return the path of a step as the picture names it, without numbers of rounds and calls."""
    return without_calls(ROUND.sub("", path))


def _route(entry: "TrailEntry") -> RouteKey:
    """Return the route's key: the arrow of the picture that the run took."""
    match entry.cause:
        case RuleMatched(number=number):
            return entry.team, number
        case DefaultTaken():
            return entry.team, None
        case NotDecided():
            return entry.team, entry.next_team
        case _ if entry.next_team is None:
            return entry.team, None
        case _:
            return entry.team, "redirect", entry.next_team
