"""Fan-out: branches that follow their own routing, and join again.

Each branch is a track of its own with a copy of the context. At the join, what the branches set is
applied in written order; two that set the same path without a merge policy are an error.
"""

from collections.abc import Callable, Coroutine, Set
from functools import partial

from pydantic import JsonValue

from coterie.dsl.errors import InvalidPlan, LimitExceeded, TeamError, TeamFailed
from coterie.dsl.evaluate.branch_writes import joined
from coterie.dsl.evaluate.context_writes import ContextWrite
from coterie.dsl.evaluate.routing import Route
from coterie.dsl.model.causes import Joined
from coterie.dsl.model.merge import deep_merge
from coterie.dsl.model.outcomes import Failure
from coterie.dsl.model.plan import Collect
from coterie.dsl.values import Json
from coterie.workflows.context_drafts import write_to_track
from coterie.workflows.core.causes.step_causes import Failed
from coterie.workflows.core.causes.trail_causes import TrailCause
from coterie.workflows.core.location import Interpreter, Location, RunLeft
from coterie.workflows.core.scope import Interrupted, Scope
from coterie.workflows.core.state_keys import StateKey
from coterie.workflows.core.state_parts import FanOut, Routed, Track
from coterie.workflows.core.trail import note_route, note_step


def start_branches(location: Location, track: Track, route: Route, scope: Scope) -> None:
    """Begin the branches of the visit at this location; the track waits for them."""
    branches = route.next_team if isinstance(route.next_team, tuple) else ()
    rule = route.rule
    track.fan_out = FanOut(
        branches=branches,
        visit=location.visit,
        concentrator=rule.concentrator if rule else None,
        merge=rule.merge if rule else {},
    )
    for branch in branches:
        scope.state.tracks[location.track.fan_out_branch(branch)] = Track(
            context=track.context,
            team=branch,
            routed=track.routed,
            latest=dict(track.latest),
            branch=True,
            enclosing_tools=track.enclosing_tools,
            personas=track.personas,
        )


async def join(
    name: StateKey, track: Track, fan_out: FanOut, scope: Scope, interpreter: Interpreter
) -> None:
    """Wait for the branches by the terms of the concentrator, and continue with their results."""
    collects = _collects(fan_out, scope)
    state = scope.state
    children = {branch: state.tracks[name.fan_out_branch(branch)] for branch in fan_out.branches}

    good = sum(child.end == "done" for child in children.values())
    ended = sum(child.end != "running" for child in children.values())

    async def follow(branch: str) -> None:
        nonlocal good, ended
        child = children[branch]
        await _follow(branch, name, child, interpreter)
        good += child.end == "done"
        ended += child.end != "running"

    def enough(finished: Set[str]) -> bool:
        return good >= (collects.count or len(children)) or ended == len(children)

    jobs: dict[str, Callable[[], Coroutine[None, None, None]]] = {
        branch: partial(follow, branch)
        for branch, child in children.items()
        if child.end == "running"
    }
    signal = collects.signal
    try:
        await scope.together(
            jobs,
            enough=enough,
            seconds=collects.timeout if fan_out.left is None else fan_out.left,
            wake=None if signal is None else lambda: bool(state.signals.get(signal)),
            begun={name for name in jobs if children[name].visit or children[name].fan_out},
        )
    except Interrupted as interrupted:
        fan_out.left = interrupted.left
        raise
    if signal is not None and state.signals.get(signal):
        state.signals[signal].pop(0)
    _meet(name, track, fan_out, children, scope)


def _collects(fan_out: FanOut, scope: Scope) -> Collect:
    if fan_out.concentrator is None:
        return Collect()
    team = scope.plan.teams.get(fan_out.concentrator)
    if team is None or team.collects is None:
        raise InvalidPlan(f"{fan_out.concentrator!r} is not a concentrator of the plan")
    return team.collects


async def _follow(branch: str, parent: StateKey, child: Track, interpreter: Interpreter) -> None:
    """Follow one branch to its end; its failure stays in the branch, a limit ends the run."""
    try:
        await interpreter.follow(parent.fan_out_branch(branch))
    except LimitExceeded:
        raise
    except TeamError as error:
        child.end = "failed"
        child.error = Failure(type=type(error).__name__, message=str(error))
    else:
        child.end = "done"


def _meet(
    name: StateKey, track: Track, fan_out: FanOut, children: dict[str, Track], scope: Scope
) -> None:
    location = Location.of_visit(name, track.routed.from_team, 0)
    for branch, child in children.items():
        if child.end == "running":
            child.end = "cancelled"
        error, cause = child.error, child.routed.cause
        ended: TrailCause = cause if error is None else Failed("branch_failed", error)
        note_step(scope, location.at(branch), child.end, ended)
        if child.arrived not in (None, fan_out.concentrator):
            raise InvalidPlan(
                f"the branch {branch!r} came to {child.arrived!r}, where nobody "
                f"waits: its fan-out meets at {fan_out.concentrator!r}"
            )
        del scope.state.tracks[name.fan_out_branch(branch)]
    scope.state.forget_branches(name, children.keys())
    write_to_track(scope.plan, track, _writes(fan_out, children), "the branches")
    for child in children.values():
        if child.end == "done":
            track.latest.update(child.latest)
    track.fan_out = None
    if fan_out.concentrator is None:
        _forget_branches(children)
        return
    track.gathered = {branch: _gather_results(child) for branch, child in children.items()}
    ends = tuple((branch, child.end) for branch, child in children.items())
    track.routed = Routed("gathered", Joined("joined", ends), track.routed.from_team)
    track.team = fan_out.concentrator


def leave(name: StateKey, track: Track, fan_out: FanOut, away: RunLeft, scope: Scope) -> None:
    """Leave the fan-out with the results of the finished branches; cancel the others."""
    state = scope.state
    children = {branch: state.tracks[name.fan_out_branch(branch)] for branch in fan_out.branches}
    write_to_track(scope.plan, track, _writes(fan_out, children), "the branches")
    for child in children.values():
        if child.end == "done":
            track.latest.update(child.latest)
    state.forget_branches(name, children.keys())
    previous_team = track.routed.from_team
    track.fan_out = None
    track.team = away.team
    track.routed = Routed("redirected", away.cause, previous_team)
    location = Location.of_visit(name, previous_team, fan_out.visit)
    note_route(scope, location, away.cause, "success", away.team)


def _forget_branches(children: dict[str, Track]) -> None:
    for branch, child in children.items():
        if child.error is not None:
            raise TeamFailed(f"the branch {branch!r} failed: {child.error.message}")


def _gather_results(child: Track) -> JsonValue:
    last = child.latest.get(child.routed.from_team or "", {}) if child.end == "done" else {}
    error = child.error
    return {
        "status": child.end,
        "data": {task: outcome.data for task, outcome in last.items() if outcome.success},
        "error": None if error is None else {"type": error.type, "message": error.message},
    }


def _writes(fan_out: FanOut, children: dict[str, Track]) -> tuple[ContextWrite, ...]:
    """Join the writes of the branches that ended, in written order."""
    updates = {name: child.updates for name, child in children.items() if child.end == "done"}
    return joined(
        updates,
        fan_out.merge,
        lambda path: (
            f"say in the rule that fans out: `merge: {{{path}: replace | extend | merge}}`"
        ),
    )


def gathered(collects: Collect, track: Track) -> dict[str, JsonValue]:
    """Return the variables of a concentrator: `branches`, and `aggregate` of their data."""
    branches = track.gathered or {}
    data = [
        entry["data"]
        for entry in branches.values()
        if isinstance(entry, dict) and entry["status"] == "done"
    ]
    variables: dict[str, JsonValue] = {"branches": dict(branches)}
    match collects.aggregate:
        case "merge_dict":
            merged: Json = {}
            for value in data:
                merged = deep_merge(merged, value if isinstance(value, dict) else {})
            variables["aggregate"] = merged
        case "list":
            variables["aggregate"] = data
        case _:  # a tool function: the compiler added a step before the team's tasks
            variables["data"] = data
    return variables
