"""Teams of type `concentrator`: the variables of their tasks, and the step that aggregates."""

from dsl.model.capabilities import Capabilities
from dsl.model.document import Orchestration, TeamDocument
from dsl.model.plan import Collect
from dsl.model.step_kinds.step_base import terms_of
from dsl.model.steps import SkillStep
from dsl.model.traversal.step_walk import walk
from dsl.source.collected_problems import Problems
from dsl.source.nodes import Node
from dsl.source.unknown_names import unknown
from dsl.values import Json, NodePath

CONCENTRATOR_NAMES = ("branches", "aggregate", "data")
"""The variables that a concentrator's tasks can read."""

_BUILT_IN = ("list", "merge_dict")


def collect_of(team: TeamDocument) -> Collect | None:
    """Return how a concentrator collects; None for every other type of team."""
    return (team.collect or Collect()) if team.type == "concentrator" else None


def is_by_skill(collect: Collect | None) -> bool:
    """Return whether a skill makes `aggregate`: the team then starts with one more step."""
    return collect is not None and collect.aggregate not in _BUILT_IN


def aggregation(
    collect: Collect | None,
    capabilities: Capabilities,
    tree: Node,
    problems: Problems,
    path: NodePath,
) -> tuple[SkillStep, ...]:
    """Return the step that makes `aggregate`, if a skill does it; else no step."""
    if collect is None or not is_by_skill(collect):
        return ()
    key_path = (*path, "collect", "aggregate")
    known = capabilities.skills
    contract = known.get(collect.aggregate)
    if contract is None:
        names = (*_BUILT_IN, *known)
        mark = tree.find(key_path).mark
        unknown(problems, mark, key_path, "E204", "aggregation", collect.aggregate, names)
        return ()
    given: Json = {"branches": "{{ branches }}", "data": "{{ data }}"}
    step = SkillStep(
        kind="skill",
        name="aggregate",
        skill=collect.aggregate,
        input=given,
        terms=terms_of(contract),
        output_variable="aggregate",
    )
    return (step,)


def task_names(orchestration: Orchestration) -> dict[str, tuple[str, ...]]:
    """Return `{team id: the names of its tasks}`, with nested ones and the one that aggregates."""
    return {
        team_id: (
            *(step.name for step, _ in walk(team.tasks, ())),
            *(("aggregate",) if is_by_skill(collect_of(team)) else ()),
        )
        for team_id, team in orchestration.teams.items()
    }
