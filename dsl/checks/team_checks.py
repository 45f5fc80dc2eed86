"""Checks that a team has what its type needs, and no section of another type."""

from dsl.model.document import TeamDocument
from dsl.source.nodes import Node, Problems
from dsl.values import NodePath
from dsl.wording.routing_wording import section_of_other_type, team_without_tasks


def check_team_type(
    team_id: str, team: TeamDocument, path: NodePath, tree: Node, problems: Problems
) -> None:
    """Note a team without tasks, and sections that belong to another type of team."""
    if problems.has("E105", (*path, "type")):
        return  # the type itself is unknown
    misfits = any(problems.below((*path, "tasks")))
    if not team.tasks and team.type != "concentrator" and not misfits:
        problems.note("E102", tree.find(path).at, (*path, "tasks"), team_without_tasks(team_id))
    sections = {
        "loop": team.loop,
        "approval": team.approval,
        "concentrator": team.collect,
        "chat": team.chat,
    }
    for type_name, section in sections.items():
        key = "collect" if type_name == "concentrator" else type_name
        if section is not None and team.type != type_name:
            problems.note(
                "E107",
                tree.find((*path, key)).at,
                (*path, key),
                section_of_other_type(key, type_name, team_id, team.type),
            )
