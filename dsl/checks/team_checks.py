"""Checks that a team has what its type needs, and no section of another type."""

from collections.abc import Sequence

from coterie.dsl.json_schema.schema_parts import NOT_EMPTY, has
from coterie.dsl.model.document import SystemDocument, TeamDocument
from coterie.dsl.model.steps import TeamStep
from coterie.dsl.normalise.team_sections import SHORT_TEAMS
from coterie.dsl.problem_details import ProblemText, rule
from coterie.dsl.source.collected_problems import Problems
from coterie.dsl.source.nodes import Node, Place
from coterie.dsl.source.unknown_names import unknown
from coterie.dsl.values import Json, NodePath

SECTIONS = {
    "loop": "loop",
    "approval": "approval",
    "concentrator": "collect",
    "chat": "chat",
}
"""`{type of team: the section that only such a team has}`."""


@rule("E102")
def team_without_tasks(team: str) -> ProblemText:
    return ProblemText(f"the team {team!r} has no tasks", fix="add `tasks:`")


@rule("E107")
def section_of_other_type(key: str, wanted: str, team: str, found: str) -> ProblemText:
    return ProblemText(
        f"`{key}` belongs to a team of type {wanted!r}, and {team!r} is of type {found!r}",
        fix=f"add `type: {wanted}`, or remove `{key}`",
    )


def _of_type(kind: str) -> Json:
    return {"properties": {"type": {"const": kind}}, **has("type")}


TEAM_KEYS: list[Json] = [
    *(
        {"if": {"properties": {key: {"type": "object"}}, **has(key)}, "then": _of_type(kind)}
        for kind, key in SECTIONS.items()
    ),
    *({"if": _of_type(kind), "then": has(kind)} for kind in SHORT_TEAMS),
    {
        "anyOf": [
            {**has("tasks"), "properties": {"tasks": NOT_EMPTY}},
            {**has("type"), "properties": {"type": {"enum": ["approval", "concentrator", "chat"]}}},
        ]
    },
]
"""The same, as JSON Schema for editors."""


def check_team_type(
    team_id: str, team: TeamDocument, path: NodePath, tree: Node, problems: Problems
) -> None:
    """Note a team without tasks, and sections that belong to another type of team."""
    others = [
        kind
        for kind, key in SECTIONS.items()
        if getattr(team, key) is not None and kind != team.type
    ]
    is_empty = not team.tasks and team.type != "concentrator"
    if not (others or is_empty) or problems.has("E105", (*path, "type")):
        return  # correct, or the type itself is unknown
    if is_empty and not any(problems.below((*path, "tasks"))):
        problems.report(team_without_tasks(team_id), Place(tree.find(path).at, (*path, "tasks")))
    for kind in others:
        details = section_of_other_type(SECTIONS[kind], kind, team_id, team.type)
        problems.report(details, tree.key_at((*path, SECTIONS[kind])))


@rule("E107")
def bound_of_itself(key: str, team: str) -> ProblemText:
    return ProblemText(
        f"`{key}` of `max_visits` names the team {team!r} itself",
        fix="name another team, or bound all visits in a run with `max_recursion_depth`",
    )


@rule("E107")
def bound_of_concentrator(team: str) -> ProblemText:
    return ProblemText(
        f"{team!r} collects the branches of a fan-out, so no other team can run instead",
        fix="remove `max_visits`, and bound a team before the fan-out",
    )


@rule("E107")
def bound_of_called_team(team: str, step: str) -> ProblemText:
    return ProblemText(
        f"the step {step!r} runs the team {team!r} and needs its data, so no other team can run "
        "instead",
        fix="remove `max_visits`, or route to the team",
    )


@rule("E107")
def bounds_in_circle(teams: Sequence[str]) -> ProblemText:
    return ProblemText(
        f"`then` leads in a circle: {' -> '.join((*teams, teams[0]))}",
        fix="let one `then` name a team without `max_visits`",
    )


def check_max_visits(
    team_id: str, document: SystemDocument, tree: Node, problems: Problems
) -> None:
    """Note what is wrong with the `max_visits` of a team."""
    teams = {} if document.orchestration is None else document.orchestration.teams
    team = teams[team_id]
    bound = team.max_visits
    if bound is None:
        return
    path: NodePath = ("orchestration", "teams", team_id, "max_visits")
    entries = tree.find(path[:2]).entries()
    for key, name in (("per", bound.per), ("then", bound.then)):
        key_path = (*path, key)
        if name not in entries:
            unknown(problems, tree.value_at(key_path), "team", name, entries)
        elif name == team_id:
            problems.report(bound_of_itself(key, team_id), tree.value_at(key_path))
    if team.type == "concentrator":
        problems.report(bound_of_concentrator(team_id), tree.key_at(path))
    for step, _ in document.steps:
        if isinstance(step, TeamStep) and step.team == team_id:
            problems.report(bound_of_called_team(team_id, step.name), tree.key_at(path))
            break
    circle = _circle(team_id, teams)
    if len(circle) > 1:
        key_path = (*path, "then")
        problems.report(bounds_in_circle(circle), tree.value_at(key_path))


def _circle(team_id: str, teams: dict[str, TeamDocument]) -> list[str]:
    """Return the teams that `then` leads through from a team back to it; empty if it does not."""
    team_ids = [team_id]
    while True:
        team = teams.get(team_ids[-1])
        if team is None or team.max_visits is None:
            return []
        following = team.max_visits.then
        if following == team_id:
            return team_ids
        if following in team_ids:
            return []
        team_ids.append(following)
