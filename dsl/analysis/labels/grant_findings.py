"""Warn of grants without effect: those that never count, and those that nothing within uses."""

from collections.abc import Iterator, Sequence

from coterie.dsl.analysis.bodies import Bodies
from coterie.dsl.analysis.labels.grant_paths import GrantPaths
from coterie.dsl.analysis.routes.teams import Teams
from coterie.dsl.egress.counted_grants import WithheldGrant
from coterie.dsl.egress.met_labels import KEPT
from coterie.dsl.model.plan import Plan
from coterie.dsl.model.steps import AgentStep
from coterie.dsl.source.collected_problems import Problems
from coterie.dsl.source.nodes import Node
from coterie.dsl.values import NodePath
from coterie.dsl.wording.agents.grant_wording import (
    NeededGrant,
    grant_never_counts,
    grant_unused_within,
)


def check_grants_count(
    plan: Plan, graph: Teams, parts: Bodies, tree: Node, problems: Problems
) -> None:
    """Warn of each tool whose grants count on no way to it, or in no call within it."""
    if not plan.narrow_grants:
        return
    paths = GrantPaths(plan, graph, parts)
    for name, tool in plan.tools.items():
        if not tool.grants:
            continue
        path: NodePath = ("tools", name, "grants")
        if "egress" in tool.labels:
            found = paths.counted(name)
            if found and not any(one.counted for one in found):
                needed = needed_grants(found[0].withheld, parts, tree)
                problems.report(grant_never_counts(name, needed), tree.key_at(path))
        else:
            used = paths.used_within(name)
            unused = tuple(label for label in tool.grants if label not in used)
            if unused:
                problems.report(grant_unused_within(name, unused), tree.key_at(path))


def needed_grants(
    withheld: Sequence[WithheldGrant], parts: Bodies, tree: Node
) -> tuple[NeededGrant, ...]:
    """Return where to add a grant so that one of those that were withheld counts."""
    if not withheld:
        return ()
    easiest = min(withheld, key=lambda one: (len(one.by), KEPT.index(one.label)))
    return tuple(_needed_grant(name, easiest, parts, tree) for name in dict.fromkeys(easiest.by))


def _needed_grant(name: str, withheld: WithheldGrant, parts: Bodies, tree: Node) -> NeededGrant:
    path: NodePath = ("tools", name)
    is_declared = tree.has(path)
    if not is_declared:
        path = next((one for one in _subagents(parts, tree) if tree.find(one).value == name), ())
    file, line, column = tree.find(path).at
    return NeededGrant(name, withheld.label, f"{file}:{line}:{column}", is_declared)


def _subagents(parts: Bodies, tree: Node) -> Iterator[NodePath]:
    """Yield where personas, and the `config` of tasks, name their subagents."""
    personas: NodePath = ("llm_config", "personas")
    owners = [(*personas, key) for key in tree.find(personas).entries()]
    for body in (*parts.teams.values(), *parts.plans.values()):
        owners += [
            (*at, "config") for step, at in body.steps_with_paths() if isinstance(step, AgentStep)
        ]
    for owner in owners:
        path = (*owner, "subagents")
        if tree.has(owner) and tree.has(path):
            yield from ((*path, index) for index in range(len(tree.find(path).items())))
