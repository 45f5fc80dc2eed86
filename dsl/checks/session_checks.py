"""Where a document waits for messages and replies: on one path, and both or neither."""

from collections.abc import Collection, Iterator, Sequence
from typing import Literal

from coterie.dsl.model.document import Orchestration, TeamDocument
from coterie.dsl.model.step_kinds.step_list import AtTheEnd, Concurrent, EachRound, ListRole
from coterie.dsl.model.steps import ReplyStep, Step, TaskGraphStep
from coterie.dsl.model.template_bound import maximum_of
from coterie.dsl.model.traversal.step_walk import PlacedStep
from coterie.dsl.problem_details import Details, ProblemText, Remove, rule
from coterie.dsl.problem_texts import called
from coterie.dsl.source.collected_problems import Problems
from coterie.dsl.source.nodes import Node
from coterie.dsl.values import NodePath

_TEAMS: NodePath = ("orchestration", "teams")


Aside = Literal["branch", "round", "finally", "fan_out", "plan"]
"""What a step may be in that is not the one path of a run."""

_ASIDE: dict[Aside, str] = {
    "branch": "a branch of a parallel step",
    "round": "a loop with concurrent rounds",
    "finally": "a `finally`",
    "fan_out": "a branch of a fan-out",
    "plan": "the plan of an agent",
}


@rule("E507")
def conversation_of_several(step: str, aside: Aside) -> ProblemText:
    return ProblemText(
        f"{called(step)} is in {_ASIDE[aside]}, and a session has one conversation at a time",
        fix="move the wait for a message and its reply to tasks that run one after the other",
    )


@rule("E507")
def reply_without_session(step: str) -> ProblemText:
    return ProblemText(
        f"{called(step)} replies, and no step waits for a message",
        fix="add `{name: next, type: wait, message: true}` before it",
    )


@rule("E507")
def session_without_reply(step: str) -> ProblemText:
    return ProblemText(
        f"{called(step)} waits for messages, and no step replies: every message would fail",
        fix='add `{name: answer, type: reply, value: "{{ ... }}"}` after it',
    )


@rule("E507")
def messages_without_session() -> ProblemText:
    return ProblemText(
        "`max_messages` bounds a session, and no step waits for a message",
        fix="remove it, or add `{name: next, type: wait, message: true}`",
        edit=Remove("max_messages"),
    )


def check_sessions(
    orchestration: Orchestration, steps: Sequence[PlacedStep], tree: Node, problems: Problems
) -> None:
    """Note what takes or answers messages where a run cannot be one conversation."""

    def note(path: NodePath, details: Details) -> None:
        problems.report(details, tree.key_at(path))

    replies = [(step, path) for step, path in steps if isinstance(step, ReplyStep)]
    waits = [(step, path) for step, path in steps if step.takes_message]
    if replies and not waits:
        step, path = replies[0]
        note(path, reply_without_session(step.name))
    if waits and not replies:
        step, path = waits[0]
        note(path, session_without_reply(step.name))
    if orchestration.max_messages is not None and not waits:
        note(("orchestration", "max_messages"), messages_without_session())
    if waits or replies:
        for step, path, aside in _misplaced_steps(steps, orchestration.teams):
            note(path, conversation_of_several(step.name, aside))


def _misplaced_steps(
    steps: Sequence[PlacedStep], teams: dict[str, TeamDocument]
) -> Iterator[tuple[Step, NodePath, Aside]]:
    """Yield the session steps outside the one path of a run, and what they are in."""
    for step, path in steps:
        of_team = path[: len(_TEAMS)] == _TEAMS and "execution_plan" not in path
        if not of_team and is_session_step(step):
            yield step, path, "plan"
    branches = _fan_out(teams)
    for team_id, team in teams.items():
        around: Aside | None = "fan_out" if team_id in branches else None
        yield from _session_steps_aside(team.tasks, (*_TEAMS, team_id, "tasks"), around)


def is_session_step(step: Step) -> bool:
    """Whether a step waits for a message, or replies."""
    return step.takes_message or isinstance(step, ReplyStep)


def _session_steps_aside(
    steps: Sequence[Step], path: NodePath, around: Aside | None
) -> Iterator[tuple[Step, NodePath, Aside]]:
    """Yield the session steps that run beside others, or at the end of a cancelled run."""
    for index, step in enumerate(steps):
        here = (*path, index)
        if around is not None and is_session_step(step):
            yield step, here, around
        for inner in step.lists(here):
            aside = around
            if isinstance(inner.role, Concurrent):
                aside = "branch"
            elif isinstance(inner.role, AtTheEnd):
                aside = "finally"
            elif _are_concurrent(step, inner.role):
                aside = "round"
            yield from _session_steps_aside(inner.steps, inner.path, aside)


def _are_concurrent(step: Step, role: ListRole) -> bool:
    """Return whether rounds or tasks run at the same time."""
    if isinstance(role, EachRound):
        return maximum_of(role.concurrency) > 1
    return isinstance(step, TaskGraphStep) and maximum_of(step.concurrency) > 1


def _fan_out(teams: dict[str, TeamDocument]) -> Collection[str]:
    """Return the teams that a branch of a fan-out visits before it ends at a concentrator."""
    team_names: dict[str, None] = {}
    ahead = [name for team in teams.values() for name in _next(team, fans_out=True)]
    for name in ahead:
        team = teams.get(name)
        if name in team_names or team is None or team.type == "concentrator":
            continue
        team_names[name] = None
        ahead += _next(team, fans_out=False)
    return team_names


def _next(team: TeamDocument, *, fans_out: bool) -> Iterator[str]:
    for route in team.routing.rules if team.routing is not None else ():
        if isinstance(route.next_team, tuple):
            yield from route.next_team
        elif not fans_out and route.next_team is not None:
            yield route.next_team
    if not fans_out and team.routing is not None and team.routing.default is not None:
        yield team.routing.default
