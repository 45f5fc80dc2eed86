"""The path that a run took through its picture, read from its trail."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from coterie.graph.picture import START, Picture, RouteArrow, RouteKey
from dsl.evaluate.because import route_because
from dsl.model.causes import DefaultTaken, NotDecided, RuleMatched
from workflows.core.views import RunStatus, TrailEntry

Mark = Literal["success", "failure", "skipped", "doing", "waiting"]
Standing = Literal["now", "waiting", "failed", "stopped"]

_ROUND = re.compile(r"/\d+(?=/)")
"""The number of a round in the path of a step, where rounds run at once."""
_MARKS: dict[str, Mark] = {
    "success": "success",
    "failure": "failure",
    "skipped": "skipped",
    "approved": "success",
    "rejected": "failure",
}
_STRANDED = ("TeamFailed", "NoRoute")
_BRANCH_ENDS: dict[str, Standing] = {"failed": "failed", "cancelled": "stopped"}


@dataclass(frozen=True, slots=True)
class Walk:
    """Where a run was, how it went on from there, and where it is."""

    run: str
    headline: str
    """One line about the whole run."""
    visits: Mapping[str, int] = field(default_factory=dict[str, int])
    """`{team: how often it was entered}`."""
    taken: Mapping[RouteKey, tuple[int, ...]] = field(
        default_factory=dict[RouteKey, tuple[int, ...]]
    )
    """`{route: its places in the order of all that were taken}`, from 1."""
    marks: Mapping[tuple[str, str], Mark] = field(default_factory=dict[tuple[str, str], Mark])
    """`{(team, path of a step): how it stands in the team's latest visit}`."""
    standing: Mapping[str, Standing] = field(default_factory=dict[str, Standing])
    """`{team: what became of it there}`; a team that the run has left is not in it."""
    stranded: str | None = None
    """The team that no route led out of."""
    redirects: Mapping[RouteKey, str] = field(default_factory=dict[RouteKey, str])
    """`{route: why}` of the ways that the plan does not have: people and budgets led there."""

    @property
    def began_at_entry(self) -> bool:
        """Whether the run went from its beginning to the plan's first team."""
        return not any(team == START for team, *_ in self.redirects)

    def orders(self, route: RouteArrow) -> tuple[int, ...]:
        """When the run took this route: its places among all that it took."""
        if route.kind == "call":
            return ()
        if route.ending == "failure":
            last = 1 + sum(map(len, self.taken.values()))
            return (last,) if route.team == self.stranded else ()
        return self.taken.get(route.key, ())


def with_redirects(picture: Picture, walk: Walk | None) -> Picture:
    """The picture with an arrow for each way that the run was led and the plan does not have."""
    if walk is None:
        return picture
    known = {box.id for box in picture.boxes}
    led = tuple(
        RouteArrow(team, None, "redirect", (str(target),), (why,))
        for (team, *_, target), why in walk.redirects.items()
        if target in known and team in (START, *known)
    )
    return replace(picture, routes=(*picture.routes, *led))


def walk_of(
    run: str,
    headline: str,
    trail: "Sequence[TrailEntry]",
    status: "RunStatus | None" = None,
    *,
    over: bool = False,
) -> Walk:
    """The walk that a trail tells.

    Args:
        run: its id.
        headline: one line about it.
        trail: from its beginning, or from where it is still known.
        status: what the run does now; None when nobody answers for it.
        over: the run has ended.
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
    )


class _Walker:
    """Goes through a trail, entry by entry."""

    def __init__(self) -> None:
        self.visits: dict[str, int] = {}
        self.taken: dict[RouteKey, list[int]] = {}
        self.marks: dict[tuple[str, str], Mark] = {}
        self.standing: dict[str, Standing] = {}
        self.stranded: str | None = None
        self.routes = 0
        self.redirects: dict[RouteKey, str] = {}
        self._latest: tuple[RouteKey, str | None] | None = None
        """The latest route, and where it led."""
        self._turned: tuple[str, str] | None = None
        """The team that the run was led away from before another one began, and why."""

    def step(self, entry: "TrailEntry") -> None:
        """Follow one event."""
        match entry.kind:
            case "team":
                self.visits[entry.team] = entry.visit
                self.standing[entry.team] = "now"
                self.marks = {key: how for key, how in self.marks.items() if key[0] != entry.team}
                if self._turned is not None:
                    (left, why), self._turned = self._turned, None
                    self._take((left, "redirect", entry.team), entry.team, why)
            case "step" | "approval":
                self._ended(entry)
            case "route" if entry.status in ("success", "failure"):
                self._take(_route(entry), entry.next_team, entry.because)
                self.standing.pop(entry.team, None)
            case "route":  # no route, a limit, a template: the run failed between two teams
                self.standing[entry.team] = "failed"
                if entry.status in _STRANDED:
                    self.stranded = entry.team
            case "control" if entry.cause is not None and entry.cause.code == "not_begun":
                self._turn_away(entry, route_because(entry.cause.sent))
            case _:  # what else people said to the run leads nowhere by itself
                pass

    def _take(self, key: RouteKey, target: str | None, why: str) -> None:
        self.routes += 1
        self.taken.setdefault(key, []).append(self.routes)
        self._latest = key, target
        if len(key) == 3:
            self.redirects.setdefault(key, why)

    def _turn_away(self, entry: "TrailEntry", why: str) -> None:
        """The team at hand is not begun: the route that led there was not gone to its end."""
        left = START
        if self._latest is not None:
            key, target = self._latest
            left = key[0]
            if target == entry.team:
                self.taken[key].pop()
                self.routes -= 1
                if not self.taken[key]:
                    del self.taken[key]
                    self.redirects.pop(key, None)
                self._latest = key, None
        self._turned = self._turned[0] if self._turned else left, why

    def _ended(self, entry: "TrailEntry") -> None:
        if entry.step is None:
            return
        branch = _BRANCH_ENDS.get(entry.status or "") if entry.visit == 0 else None
        if branch is not None and entry.step in self.standing:
            self.standing[entry.step] = branch
        mark = _MARKS.get(entry.status or "")
        if mark is not None:
            self.marks[entry.team, _ROUND.sub("", entry.step)] = mark

    def stop(self) -> None:
        """Where the run was when it was cancelled or terminated, nothing goes on any more."""
        for team, how in self.standing.items():
            if how == "now":
                self.standing[team] = "stopped"

    def locate(self, status: "RunStatus") -> None:
        """What the run itself says of where it is is more exact than its trail."""
        told: dict[str, Mark] = {doing.step: "doing" for doing in status.doing}
        told |= dict.fromkeys(
            (request.rpartition("#")[0] for request in status.waiting_for), "waiting"
        )
        here: dict[str, Standing] = {}
        for place, mark in told.items():
            team, _, path = place.partition("/")
            self.marks[team, _ROUND.sub("", path)] = mark
            here[team] = "waiting" if mark == "waiting" else here.get(team, "now")
        gone = [team for team, how in self.standing.items() if how == "now" and team not in here]
        for team in gone if here else ():
            del self.standing[team]
        self.standing |= here


def _route(entry: "TrailEntry") -> RouteKey:
    """The route's key: which arrow of the picture the run took."""
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
